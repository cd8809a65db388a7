//! The printer: the only place that makes PTX text.
//!
//! Only a [`Verified`] module can be printed. The text depends on the module alone: the same bytes on every machine and
//! in every run. Registers are declared with their real type, one line per type; the version is the lowest sufficient
//! one.
//!
//! On request ([`Options::lines`]) the text names the author's lines for profilers, debuggers and sanitizers. Such text is for them
//! alone: it changes with every edit of the source, so snapshots and hashes are made without.

use std::fmt::{self, Write};

use crate::ir::{Addr, Base, Block, Entry, Inst, Module, Operand, Reg, Terminator};
use crate::isa::syntax::{self, Piece, Segment};
use crate::types::Ty;
use crate::verify::Verified;

mod lines;

use lines::Lines;

/// What the text holds beside the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// `.file` and `.loc` directives with the places of the author's source, which an assembler turns into line tables
    /// (`ptxas -lineinfo`).
    pub lines: bool,
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_module(f, self, &mut Lines::off())
    }
}

impl Verified {
    /// The text with what `options` ask for; by default the same as that of `Display`.
    pub fn text(&self, options: Options) -> String {
        let mut lines = if options.lines { Lines::of(self.module()) } else { Lines::off() };
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = write_module(&mut out, self, &mut lines);
        out
    }
}

fn write_module(f: &mut impl Write, verified: &Verified, lines: &mut Lines) -> fmt::Result {
    let module: &Module = verified.module();
    writeln!(f, ".version {}", verified.version())?;
    writeln!(f, ".target {}", module.target)?;
    writeln!(f, ".address_size 64")?;
    lines.write_files(f)?;
    for entry in &module.entries {
        writeln!(f)?;
        write_dynamic_arrays(f, entry)?;
        write_entry(f, entry, lines)?;
    }
    Ok(())
}

/// PTX has `.extern` at module scope only; the arrays belong to the entry that follows.
fn write_dynamic_arrays(f: &mut impl Write, entry: &Entry) -> fmt::Result {
    for array in entry.shared.iter().filter(|array| array.len.is_none()) {
        writeln!(f, ".extern .shared .align {} {} {}[];", array.align, array.ty, array.name)?;
    }
    Ok(())
}

fn write_entry(f: &mut impl Write, entry: &Entry, lines: &mut Lines) -> fmt::Result {
    write!(f, ".visible .entry {}(", entry.name)?;
    for (i, param) in entry.params.iter().enumerate() {
        write!(f, "{}\n\t.param {}", if i == 0 { "" } else { "," }, param.ty)?;
        if let Some(align) = param.pointer_align {
            write!(f, " .ptr .global .align {align}")?;
        }
        write!(f, " {}", param.name)?;
    }
    writeln!(f, "{})", if entry.params.is_empty() { "" } else { "\n" })?;
    let bounds = &entry.bounds;
    let triple = |[x, y, z]: [u32; 3]| format!("{x}, {y}, {z}");
    if let Some(block) = bounds.block {
        writeln!(f, ".reqntid {}", triple(block))?;
    }
    if let Some(block) = bounds.max_block {
        writeln!(f, ".maxntid {}", triple(block))?;
    }
    if let Some(blocks) = bounds.min_blocks {
        writeln!(f, ".minnctapersm {blocks}")?;
    }
    if let Some(regs) = bounds.max_regs {
        writeln!(f, ".maxnreg {regs}")?;
    }
    if let Some(cluster) = bounds.cluster {
        writeln!(f, ".reqnctapercluster {}", triple(cluster))?;
    }
    writeln!(f, "{{")?;
    write_registers(f, entry)?;
    for array in &entry.shared {
        if let Some(len) = array.len {
            writeln!(f, "\t.shared .align {} {} {}[{len}];", array.align, array.ty, array.name)?;
        }
    }
    for block in &entry.blocks {
        write_block(f, entry, block, lines)?;
    }
    writeln!(f, "}}")
}

/// Declarations wrap at about this many characters, so that a new register changes one line.
const DECLARATION_WIDTH: usize = 100;

fn write_registers(f: &mut impl Write, entry: &Entry) -> fmt::Result {
    for &ty in Ty::ALL {
        let mut line = String::new();
        for info in entry.regs.iter().filter(|info| info.ty == ty) {
            if line.is_empty() {
                write!(line, "\t.reg {ty} %{}", info.name)?;
            } else {
                write!(line, ", %{}", info.name)?;
            }
            if line.len() > DECLARATION_WIDTH {
                writeln!(f, "{line};")?;
                line.clear();
            }
        }
        if !line.is_empty() {
            writeln!(f, "{line};")?;
        }
    }
    Ok(())
}

fn write_block(f: &mut impl Write, entry: &Entry, block: &Block, lines: &mut Lines) -> fmt::Result {
    if let Some(label) = &block.label {
        writeln!(f, "{label}:")?;
    }
    let mut comments = block.comments.0.iter().peekable();
    let mut line = String::new();
    for (i, inst) in block.insts.iter().enumerate() {
        while let Some((_, text)) = comments.next_if(|(at, _)| *at <= i) {
            writeln!(f, "\t// {text}")?;
        }
        lines.write_place(f, inst.place)?;
        line.clear();
        line.push('\t');
        push_inst(&mut line, entry, inst);
        line.push('\n');
        f.write_str(&line)?;
    }
    for (_, text) in comments {
        writeln!(f, "\t// {text}")?;
    }
    match show_terminator(entry, &block.term) {
        Some(text) => {
            lines.write_place(f, block.term_place)?;
            writeln!(f, "\t{text}")
        }
        None => Ok(()),
    }
}

fn reg_name(entry: &Entry, reg: Reg) -> String {
    match entry.regs.get(reg.index()) {
        Some(info) => format!("%{}", info.name),
        None => format!("%<{}>", reg.0),
    }
}

/// The text of a terminator; `None` where control falls through.
pub fn show_terminator(entry: &Entry, term: &Terminator) -> Option<String> {
    let label = |target: crate::ir::BlockId| {
        entry
            .blocks
            .get(target.index())
            .and_then(|b| b.label.clone())
            .unwrap_or_else(|| format!("<{}>", target.0))
    };
    Some(match term {
        Terminator::Fall => return None,
        Terminator::Jump(target) => format!("bra {};", label(*target)),
        Terminator::Branch { pred, negated, target, uniform } => {
            let not = if *negated { "!" } else { "" };
            let uni = if *uniform { ".uni" } else { "" };
            format!("@{not}{} bra{uni} {};", reg_name(entry, *pred), label(*target))
        }
        Terminator::Ret => "ret;".to_owned(),
        Terminator::Exit => "exit;".to_owned(),
        Terminator::Trap => "trap;".to_owned(),
    })
}

/// The name of an instruction with its modifiers, without guard and operands.
pub fn inst_name(inst: &Inst) -> String {
    let mut out = String::with_capacity(32);
    push_name(&mut out, inst);
    out
}

fn push_name(out: &mut String, inst: &Inst) {
    for (i, segment) in syntax::head(inst.op).iter().enumerate() {
        let text = match segment {
            Segment::Literal(text) => Some(*text),
            Segment::Slot { slot, .. } => inst.mods.get(*slot).map(crate::isa::Mod::text),
        };
        if let Some(text) = text {
            if i > 0 {
                out.push('.');
            }
            out.push_str(text);
        }
    }
}

/// The text of an instruction.
pub fn show_inst(entry: &Entry, inst: &Inst) -> String {
    let mut out = String::with_capacity(64);
    push_inst(&mut out, entry, inst);
    out
}

fn push_inst(out: &mut String, entry: &Entry, inst: &Inst) {
    if let Some(guard) = inst.guard {
        out.push('@');
        if guard.negated {
            out.push('!');
        }
        push_reg(out, entry, guard.pred);
        out.push(' ');
    }
    push_name(out, inst);
    let mut previous = None;
    for piece in syntax::operands(inst.op) {
        match piece {
            Piece::Punct(',') => out.push_str(", "),
            // A vector operand brings its own braces.
            Piece::Punct('{' | '}') => continue,
            Piece::Punct(c) => {
                if previous.is_none() {
                    out.push(' ');
                }
                out.push(*c);
            }
            Piece::Operand(i) => {
                if previous.is_none() {
                    out.push(' ');
                }
                match inst.operands.get(*i) {
                    Some(operand) => push_operand(out, entry, operand),
                    None => out.push_str("<missing>"),
                }
            }
        }
        previous = Some(piece);
    }
    out.push(';');
}

fn push_reg(out: &mut String, entry: &Entry, reg: Reg) {
    match entry.regs.get(reg.index()) {
        Some(info) => {
            out.push('%');
            out.push_str(&info.name);
        }
        None => out.push_str(&reg_name(entry, reg)),
    }
}

fn push_operand(out: &mut String, entry: &Entry, operand: &Operand) {
    match operand {
        Operand::Reg(reg) => push_reg(out, entry, *reg),
        // Writing to a string does not fail.
        Operand::Imm(imm) => {
            let _ = write!(out, "{imm}");
        }
        Operand::Special(special) => out.push_str(special.name()),
        Operand::Shared(id) => {
            out.push_str(entry.shared.get(id.index()).map_or("<shared>", |array| array.name.as_str()));
        }
        Operand::Vec(items) => {
            out.push('{');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                push_operand(out, entry, item);
            }
            out.push('}');
        }
        Operand::Addr(Addr { base, offset }) => {
            match base {
                Base::Reg(reg) => push_reg(out, entry, *reg),
                Base::Shared(id) => {
                    out.push_str(
                        entry.shared.get(id.index()).map_or("<shared>", |array| array.name.as_str()),
                    );
                }
                Base::Param(id) => {
                    out.push_str(entry.params.get(id.index()).map_or("<param>", |param| param.name.as_str()));
                }
            }
            // A negative offset is added, not subtracted: PTX has no minus there.
            if *offset != 0 {
                let _ = write!(out, "+{offset}");
            }
        }
        Operand::Sink => out.push('_'),
    }
}
