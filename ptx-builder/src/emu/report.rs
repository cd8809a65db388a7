//! From a worker's counters and raw findings to what users read.

use super::decode::{NONE, Program};
use super::exec::Geometry;
use super::finding::{Finding, Kind, Raw, Related, Thread, Where};
use super::memory::Memory;
use super::profile::{BufferProfile, InstClass, InstProfile, Profile, Traffic};
use super::{Options, Outcome, Ran};
use crate::ir::Terminator;
use crate::isa::mods::Space;

/// What a run comes to.
pub(crate) fn outcome(
    program: &Program<'_>,
    memory: &Memory,
    geometry: &Geometry,
    options: &Options,
    ran: Ran,
) -> Outcome {
    let profile = profile(program, memory, geometry, &ran);
    let completed = ran.stop.is_none();
    let mut findings: Vec<Finding> = Vec::new();
    let mut omitted: Vec<(Kind, u64)> = Vec::new();
    for (raw, count) in ran.sink.into_findings() {
        let kept = findings.iter().filter(|finding| finding.kind == raw.kind).count();
        if kept < options.findings_per_kind {
            findings.push(finding(program, memory, geometry, raw, count));
        } else {
            match omitted.last_mut() {
                Some((kind, number)) if *kind == raw.kind => *number += 1,
                _ => omitted.push((raw.kind, 1)),
            }
        }
    }
    Outcome { completed, findings, omitted, profile }
}

fn finding(program: &Program<'_>, memory: &Memory, geometry: &Geometry, raw: Raw, count: u64) -> Finding {
    let thread = |block: u64, thread: u32| Thread {
        block: geometry.block_index(block),
        thread: geometry.thread_index(thread),
    };
    let place = |inst: u32| program.insts.get(inst as usize).map(|info| info.place).unwrap_or_default();
    let (buffer, offset) = match raw.memory {
        Where::Nowhere => (None, None),
        Where::Register(reg) => {
            (program.entry.regs.get(reg as usize).map(|info| format!("%{}", info.name)), None)
        }
        Where::Global(buffer, offset) => {
            (memory.buffers.get(buffer as usize).map(|buffer| buffer.name.clone()), Some(offset))
        }
        Where::Shared(address) => {
            let (name, start) = shared_array(program, address);
            (Some(name), Some(address - start))
        }
    };
    Finding {
        kind: raw.kind,
        kernel: program.entry.name.clone(),
        at: thread(raw.block, raw.thread),
        instruction: program.text(raw.inst),
        place: place(raw.inst),
        buffer,
        offset,
        related: raw.related.map(|other| Related {
            at: thread(other.block, other.thread),
            instruction: program.text(other.inst),
            place: place(other.inst),
        }),
        message: raw.message,
        count,
    }
}

/// The shared array at an address, or the last one before it, and where it begins.
fn shared_array(program: &Program<'_>, address: i64) -> (String, i64) {
    let arrays = program.arrays.iter().zip(&program.entry.shared);
    let before = arrays.filter(|(at, _)| i64::from(at.start) <= address).max_by_key(|(at, _)| at.start);
    match before {
        Some((at, array)) => (array.name.clone(), i64::from(at.start)),
        None => ("shared memory".to_owned(), 0),
    }
}

fn profile(program: &Program<'_>, memory: &Memory, geometry: &Geometry, ran: &Ran) -> Profile {
    let mut instructions = Vec::with_capacity(program.insts.len());
    for (id, info) in program.insts.iter().enumerate() {
        let block = &program.entry.blocks[info.block as usize];
        let inst = block.insts.get(info.index as usize);
        if info.index == NONE && block.term == Terminator::Fall {
            continue;
        }
        let counter = ran.counters.insts.get(id).copied().unwrap_or_default();
        let guarded = inst.is_some_and(|inst| inst.guard.is_some());
        let (warps, lanes) = if guarded {
            (counter.warps, counter.lanes)
        } else {
            ran.counters.blocks.get(info.block as usize).copied().unwrap_or_default()
        };
        let none = Traffic::default();
        let shared = inst.is_some_and(|inst| {
            matches!(Space::of(&inst.mods), Some(Space::Shared | Space::SharedCta | Space::SharedCluster))
        });
        let (global, shared) = if shared { (none, counter.traffic) } else { (counter.traffic, none) };
        instructions.push(InstProfile {
            text: program.text(id as u32),
            place: info.place,
            class: if info.index == NONE { InstClass::Control } else { info.class },
            warps,
            lanes,
            diverged: counter.diverged,
            global,
            shared,
        });
    }
    let buffers = memory.buffers.iter().enumerate().map(|(i, buffer)| {
        let (loaded, stored) = ran.counters.buffers.get(i).copied().unwrap_or_default();
        let touched = ran.touched.get(i);
        BufferProfile {
            name: buffer.name.clone(),
            bytes: buffer.len as u64,
            loaded,
            stored,
            sectors_loaded: touched.map_or(0, |touched| touched.loaded.count()),
            sectors_stored: touched.map_or(0, |touched| touched.stored.count()),
        }
    });
    Profile {
        instructions,
        buffers: buffers.collect(),
        blocks: ran.blocks,
        warps_per_block: geometry.warps(),
        shared_bytes: program.shared_bytes,
    }
}
