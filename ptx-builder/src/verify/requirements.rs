//! Target and version requirements, read from the table rows.

use super::{Finding, Location, Report, Severity};
use crate::hash::FastSet;
use crate::ir::{Entry, Module, Operand, Place};
use crate::isa::{Form, Since, table};
use crate::print::inst_name;
use crate::target::{PtxVersion, Target};

/// Why a module needs a PTX version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The version.
    pub ptx: PtxVersion,
    /// What needs it: the target or an instruction.
    pub because: String,
    /// The oldest architectures that have it, in words; empty for the target itself.
    pub sm: String,
}

/// Bytes of kernel parameters that every version takes.
const SMALL_PARAMS: u64 = 4352;
/// Bytes of kernel parameters from PTX 8.1 on.
const LARGE_PARAMS: u64 = 32764;

/// The requirements of a module, the highest version first; one entry for each instruction name.
pub(super) fn of(module: &Module) -> Vec<Requirement> {
    let target = module.target;
    let mut all =
        vec![Requirement { ptx: target.min_ptx(), because: format!("target {target}"), sm: String::new() }];
    let mut add = |since: &Since, because: String| {
        if !all.iter().any(|r| r.because == because && r.ptx == since.ptx) {
            all.push(Requirement { ptx: since.ptx, because, sm: since.sm.to_string() });
        }
    };
    for entry in &module.entries {
        let mut seen = FastSet::default();
        for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
            if seen.insert((inst.op, inst.mods)) {
                for since in Form::of(inst.op).requirements(&inst.mods) {
                    add(since, inst_name(inst));
                }
            }
            for operand in &inst.operands {
                if let Operand::Special(special) = operand {
                    add(&table::special_since(*special), special.name().to_owned());
                }
            }
        }
        if param_bytes(entry) > SMALL_PARAMS {
            let ptx = PtxVersion::new(8, 1);
            all.push(Requirement {
                ptx,
                because: format!("{} bytes of parameters", param_bytes(entry)),
                sm: String::new(),
            });
            break;
        }
    }
    all.sort_by_key(|r| std::cmp::Reverse(r.ptx));
    all
}

/// Bytes of an entry's parameters, alignment included.
fn param_bytes(entry: &Entry) -> u64 {
    entry.params.iter().fold(0, |end: u64, param| {
        let bytes = u64::from(param.ty.bytes());
        end.next_multiple_of(bytes) + bytes
    })
}

/// The lowest version that satisfies all requirements.
pub(super) fn version(module: &Module, requirements: &[Requirement]) -> PtxVersion {
    requirements.iter().map(|requirement| requirement.ptx).max().unwrap_or(module.target.min_ptx())
}

/// What needs a later version than the declared one.
pub(super) fn check_version(module: &Module, declared: PtxVersion) -> Vec<Finding> {
    let too_new = of(module).into_iter().filter(|requirement| requirement.ptx > declared);
    let needed = version(module, &of(module));
    too_new
        .map(|requirement| Finding {
            rule: "version",
            severity: Severity::Error,
            message: format!(
                "PTX {} is needed for {}, `.version` is {declared}",
                requirement.ptx,
                quoted(&requirement.because)
            ),
            at: Location { entry: String::new(), text: String::new(), place: Place::default() },
            related: None,
            hint: Some(format!("write `.version {needed}`")),
        })
        .collect()
}

/// Instruction names and special registers in backticks, other reasons as they are.
fn quoted(because: &str) -> String {
    if because.contains(' ') { because.to_owned() } else { format!("`{because}`") }
}

/// Refuses what the target lacks.
pub(super) fn check(target: Target, entry: &Entry, report: &mut Report<'_>) {
    const RULE: &str = "target";
    for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
        let missing = |since: &Since| !since.sm.admits(target);
        for since in Form::of(inst.op).requirements(&inst.mods).filter(|since| missing(since)) {
            let name = inst_name(inst);
            report.at_inst(RULE, inst, format!("`{name}` needs {}, target is {target}", since.sm));
        }
        for operand in &inst.operands {
            if let Operand::Special(special) = operand
                && missing(&table::special_since(*special))
            {
                let since = table::special_since(*special);
                report.at_inst(RULE, inst, format!("`{special}` needs {}, target is {target}", since.sm));
            }
        }
    }
    let bytes = param_bytes(entry);
    if bytes > LARGE_PARAMS {
        let message = format!("{bytes} bytes of parameters, the limit is {LARGE_PARAMS}");
        report.at_entry("parameters", String::new(), message);
    }
}
