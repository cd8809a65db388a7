//! Resources: sizes of blocks, clusters, shared memory, registers and parameters; directives that contradict each other.
//!
//! The limits are those of every target in the table, or of the module's own where they differ.

use super::Report;
use super::Severity::{Error, Warning};
use crate::ir::{Entry, SharedArray};
use crate::target::Target;
use crate::types::Ty;

/// Threads of a block.
const MAX_THREADS: u64 = 1024;
/// Threads of a block, by dimension.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Blocks of a cluster, where the device allows the non-portable size.
const MAX_CLUSTER: u64 = 16;
/// Bytes of static shared memory of a block.
const MAX_STATIC_SHARED: u64 = 48 * 1024;
/// Registers of a thread.
const MAX_REGISTERS: u32 = 255;
/// Registers of a multiprocessor, on every target of the table.
const REGISTERS_PER_SM: u64 = 64 * 1024;

pub(super) fn check(target: Target, entry: &Entry, report: &mut Report<'_>) {
    bounds(target, entry, report);
    parameters(entry, report);
    for array in &entry.shared {
        shared(array, report);
    }
    let bytes = static_shared_bytes(entry);
    if bytes > MAX_STATIC_SHARED {
        report
            .at_entry(
                "shared-size",
                String::new(),
                format!("{bytes} bytes of static shared memory, the limit is {MAX_STATIC_SHARED}"),
            )
            .hint("declare the array dynamic (`.extern .shared`) and give its size at the launch");
    }
}

fn bounds(target: Target, entry: &Entry, report: &mut Report<'_>) {
    const RULE: &str = "launch-bounds";
    let bounds = &entry.bounds;
    let mut error = |text: String, message: String| {
        report.at_entry(RULE, text, message);
    };
    for (directive, size) in [(".reqntid", bounds.block), (".maxntid", bounds.max_block)] {
        let Some(size) = size else { continue };
        let text = format!("{directive} {}", triple(size));
        dimensions(&text, size, &mut error);
        for (axis, (own, limit)) in ["x", "y", "z"].iter().zip(size.into_iter().zip(MAX_BLOCK)) {
            if own > limit {
                error(text.clone(), format!("{own} threads in {axis}, the limit is {limit}"));
            }
        }
        let threads = product(size);
        if threads > MAX_THREADS {
            error(text, format!("{threads} threads in a block, the limit is {MAX_THREADS}"));
        }
    }
    if bounds.block.is_some() && bounds.max_block.is_some() {
        error(String::new(), "`.reqntid` and `.maxntid` exclude each other".to_owned());
    }
    if let Some(size) = bounds.cluster {
        let text = format!(".reqnctapercluster {}", triple(size));
        dimensions(&text, size, &mut error);
        let blocks = product(size);
        if blocks > MAX_CLUSTER {
            error(text.clone(), format!("{blocks} blocks in a cluster, the limit is {MAX_CLUSTER}"));
        }
        if target.number() < 90 {
            error(text, format!("clusters need sm_90 or newer, target is {target}"));
        }
    }
    if let Some(regs) = bounds.max_regs
        && !(1..=MAX_REGISTERS).contains(&regs)
    {
        error(
            format!(".maxnreg {regs}"),
            format!("{regs} registers in a thread, the limits are 1 and {MAX_REGISTERS}"),
        );
    }
    occupancy(target, entry, report);
}

fn occupancy(target: Target, entry: &Entry, report: &mut Report<'_>) {
    const RULE: &str = "launch-bounds";
    let bounds = &entry.bounds;
    let Some(blocks) = bounds.min_blocks else { return };
    let text = format!(".minnctapersm {blocks}");
    let row = target.row();
    if blocks == 0 || blocks > row.blocks_per_sm {
        let message = format!(
            "{blocks} blocks on a multiprocessor, the limits of {target} are 1 and {}",
            row.blocks_per_sm
        );
        report.at_entry(RULE, text.clone(), message);
    }
    let Some(size) = bounds.block.or(bounds.max_block) else {
        let place = report.entry_place();
        report
            .add(
                RULE,
                Error,
                (text, place),
                "`.minnctapersm` has no effect without `.reqntid` or `.maxntid`".to_owned(),
            )
            .hint("declare the block size");
        return;
    };
    let threads = product(size).saturating_mul(u64::from(blocks));
    if threads > u64::from(row.threads_per_sm) {
        let message =
            format!("{threads} threads on a multiprocessor, the limit of {target} is {}", row.threads_per_sm);
        report.at_entry(RULE, text.clone(), message);
    }
    let regs = bounds.max_regs.map_or(0, u64::from).saturating_mul(threads);
    if regs > REGISTERS_PER_SM {
        let place = report.entry_place();
        let message = format!("{regs} registers on a multiprocessor, which has {REGISTERS_PER_SM}");
        report.add(RULE, Warning, (text.clone(), place), message).hint("lower `.maxnreg` or `.minnctapersm`");
    }
    let shared = static_shared_bytes(entry).saturating_mul(u64::from(blocks));
    if shared > u64::from(row.shared_per_sm) {
        let message = format!(
            "{shared} bytes of shared memory on a multiprocessor, the limit of {target} is {}",
            row.shared_per_sm
        );
        report.at_entry(RULE, text, message);
    }
}

fn triple([x, y, z]: [u32; 3]) -> String {
    format!("{x}, {y}, {z}")
}

fn product(size: [u32; 3]) -> u64 {
    size.into_iter().fold(1u64, |all, n| all.saturating_mul(u64::from(n)))
}

fn dimensions(text: &str, size: [u32; 3], error: &mut impl FnMut(String, String)) {
    if size.contains(&0) {
        error(text.to_owned(), "a size of 0, the smallest is 1".to_owned());
    }
}

fn parameters(entry: &Entry, report: &mut Report<'_>) {
    const RULE: &str = "parameters";
    for param in &entry.params {
        let place = param.place;
        let text = format!(".param {} {}", param.ty, param.name);
        let plain = param.ty.is_int() || param.ty.is_bits() || param.ty.is_float();
        if !plain || param.ty.bits() > 64 {
            report.at_declaration(
                RULE,
                place,
                text.clone(),
                format!("parameter `{}` has the type `{}`", param.name, param.ty),
            );
        }
        if let Some(align) = param.pointer_align {
            if !align.is_power_of_two() {
                let message =
                    format!("parameter `{}` has the alignment {align}, which is no power of two", param.name);
                report.at_declaration(RULE, place, text.clone(), message);
            }
            if param.ty.bits() != 64 || param.ty.is_float() {
                let message =
                    format!("pointer `{}` has the type `{}`, a pointer is `.u64`", param.name, param.ty);
                report.at_declaration(RULE, place, text, message);
            }
        }
    }
}

fn shared(array: &SharedArray, report: &mut Report<'_>) {
    const RULE: &str = "shared-size";
    let text = match array.len {
        Some(len) => format!(".shared .align {} {} {}[{len}]", array.align, array.ty, array.name),
        None => format!(".extern .shared .align {} {} {}[]", array.align, array.ty, array.name),
    };
    let name = &array.name;
    let place = array.place;
    if !array.align.is_power_of_two() {
        let message = format!("`{name}` has the alignment {}, which is no power of two", array.align);
        report.at_declaration(RULE, place, text.clone(), message);
    } else if array.align < array.ty.bytes() {
        let message =
            format!("`{name}` has the alignment {}, its elements need {}", array.align, array.ty.bytes());
        report.at_declaration(RULE, place, text.clone(), message);
    }
    if array.ty == Ty::Pred || !(array.ty.is_int() || array.ty.is_bits() || array.ty.is_float()) {
        report.at_declaration(
            RULE,
            place,
            text.clone(),
            format!("`{name}` has elements of the type `{}`", array.ty),
        );
    }
    if array.len == Some(0) {
        report.at_declaration(RULE, place, text, format!("`{name}` has 0 elements, the least is 1"));
    }
}

/// Bytes with the padding that alignments cost; unlike the sum of an entry that is known to fit, it cannot overflow.
fn static_shared_bytes(entry: &Entry) -> u64 {
    entry.shared.iter().fold(0, |end: u64, array| match array.len {
        Some(len) => {
            let start = end.next_multiple_of(u64::from(array.align.max(1)));
            start.saturating_add(u64::from(len) * u64::from(array.ty.bytes()))
        }
        None => end,
    })
}
