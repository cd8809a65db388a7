//! Decoding of everything that is more than a function of registers: memory, exchanges, barriers, packing moves.

use super::{
    Act, Class, Decoder, Error, Form, Inst, Operand, Ordering, Role, Slot, element_bytes, parameter,
    register_bits,
};
use crate::ir::{Addr, Base};
use crate::isa::mods::{self, BoolOp, Shfl};
use crate::isa::syntax::{Segment, head};

/// The state space of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
}

/// The register part of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddrBase {
    None,
    W32(u32),
    W64(u32),
}

/// A load or a store of one element or a vector.
#[derive(Debug)]
pub(crate) struct MemOp {
    pub(crate) space: Space,
    /// Through the read-only data path.
    pub(crate) nc: bool,
    pub(crate) ordering: Ordering,
    pub(crate) base: AddrBase,
    pub(crate) offset: u64,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub(crate) elem: u32,
    /// Bytes of the access.
    pub(crate) bytes: u32,
    /// Bits of the register that a loaded element is sign-extended to; 0 for none.
    pub(crate) sign: u32,
    /// The elements' registers.
    pub(crate) regs: Vec<Slot>,
    /// All elements and all registers have 32 bits.
    pub(crate) words: bool,
    /// Buffers, or shared arrays, that the address must lead to.
    pub(crate) origins: Option<Box<[u32]>>,
}

/// A packing or unpacking move.
#[derive(Debug)]
pub(crate) struct PackOp {
    pub(crate) whole: Slot,
    /// The parts, low first, with their bits.
    pub(crate) parts: Vec<(Slot, u32)>,
}

/// `shfl.sync`.
#[derive(Debug)]
pub(crate) struct ShuffleOp {
    pub(crate) mode: Shfl,
    pub(crate) d: u32,
    /// Whether the source lane was in range.
    pub(crate) p: Option<u32>,
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) members: u32,
}

/// What a barrier instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `bar.warp.sync`: within the warp.
    Warp,
}

/// A barrier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BarrierOp {
    pub(crate) kind: BarrierKind,
    /// The barrier, or the member mask of a warp barrier.
    pub(crate) id: u32,
    /// Threads that take part; all of the block without it.
    pub(crate) count: Option<u32>,
    /// What is computed from a predicate of all threads.
    pub(crate) reduce: Option<Reduce>,
}

/// The reduction of `bar.red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reduce {
    pub(crate) d: Slot,
    pub(crate) p: u32,
    /// Whether it holds in all or any threads; their number without it.
    pub(crate) how: Option<BoolOp>,
}

/// Whether the name of a row has this part as fixed text; of `shared::cta` the part is `shared`.
fn has_literal(inst: &Inst, text: &str) -> bool {
    let is = |segment: &Segment| match segment {
        Segment::Literal(literal) => literal.split("::").next() == Some(text),
        Segment::Slot { .. } => false,
    };
    head(inst.op).iter().any(is)
}

/// Where an access goes.
pub(super) enum Target {
    Param,
    In(Space),
}

impl Decoder<'_, '_> {
    pub(super) fn space(&self, inst: &Inst) -> Result<Target, Error> {
        Ok(match mods::Space::of(&inst.mods) {
            Some(mods::Space::Global) => Target::In(Space::Global),
            // Without clusters the shared memory of the cluster is that of the block.
            Some(mods::Space::Shared | mods::Space::SharedCta | mods::Space::SharedCluster) => {
                Target::In(Space::Shared)
            }
            Some(mods::Space::Param) => Target::Param,
            None if has_literal(inst, "param") => Target::Param,
            None if has_literal(inst, "global") => Target::In(Space::Global),
            None if has_literal(inst, "shared") => Target::In(Space::Shared),
            // A generic address: no row makes one of anything but global memory.
            None => Target::In(Space::Global),
            Some(mods::Space::Local | mods::Space::Const) => {
                return self.refuse(inst, "this state space is not emulated");
            }
        })
    }

    pub(super) fn address(&self, inst: &Inst) -> Result<Addr, Error> {
        let found = inst.operands.iter().zip(Form::of(inst.op).operands).find_map(|(operand, spec)| {
            match (spec.role, operand) {
                (Role::Addr, Operand::Addr(addr)) => Some(*addr),
                (Role::Addr, Operand::Reg(reg)) => Some(Addr { base: Base::Reg(*reg), offset: 0 }),
                (Role::Addr, Operand::Shared(id)) => Some(Addr { base: Base::Shared(*id), offset: 0 }),
                _ => None,
            }
        });
        match found {
            Some(addr) => Ok(addr),
            None => self.refuse(inst, "no address"),
        }
    }

    fn memory(&mut self, inst: &Inst, space: Space) -> Result<MemOp, Error> {
        let addr = self.address(inst)?;
        let Some(elem) = inst.mods.t().and_then(element_bytes) else {
            return self.refuse(inst, "elements of 8, 16, 32 or 64 bits are emulated");
        };
        self.memory_at(inst, addr, space, elem)
    }

    /// An access to one address, of elements of `elem` bytes.
    pub(super) fn memory_at(
        &mut self,
        inst: &Inst,
        addr: Addr,
        space: Space,
        elem: u32,
    ) -> Result<MemOp, Error> {
        let (base, offset, origins) = match addr.base {
            Base::Reg(reg) => {
                let slot = self.register(inst, reg)?;
                let origin = &self.origins[reg.index()];
                let origins = match space {
                    Space::Global => origin.known_buffers(),
                    Space::Shared => origin.known_arrays(),
                };
                match slot.class {
                    Class::W32 => (AddrBase::W32(slot.at), addr.offset as u64, origins),
                    Class::W64 => (AddrBase::W64(slot.at), addr.offset as u64, origins),
                    Class::Pred => return self.refuse(inst, "a predicate as address"),
                }
            }
            Base::Shared(id) => {
                let Some(array) = self.arrays.get(id.index()) else {
                    return self.refuse(inst, format!("shared array {} of {}", id.0, self.arrays.len()));
                };
                let offset = (addr.offset as u64).wrapping_add(u64::from(array.start));
                (AddrBase::None, offset, (space == Space::Shared).then(|| Box::from([id.0])))
            }
            Base::Param(_) => return self.refuse(inst, "a parameter outside of the parameter space"),
        };
        Ok(MemOp {
            space,
            nc: has_literal(inst, "nc"),
            ordering: Ordering::of(inst),
            base,
            offset,
            elem,
            bytes: elem * inst.mods.vec() as u32,
            sign: 0,
            regs: Vec::new(),
            words: false,
            origins,
        })
    }

    pub(super) fn elements<'o>(&self, inst: &Inst, operand: &'o Operand) -> Result<&'o [Operand], Error> {
        let items = match operand {
            Operand::Vec(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        if items.len() == inst.mods.vec() {
            Ok(items)
        } else {
            self.refuse(inst, format!("{} elements, expected {}", items.len(), inst.mods.vec()))
        }
    }

    fn operand<'o>(&self, inst: &'o Inst, wanted: impl Fn(Role) -> bool) -> Result<&'o Operand, Error> {
        let mut pairs = inst.operands.iter().zip(Form::of(inst.op).operands);
        match pairs.find(|(_, spec)| wanted(spec.role)) {
            Some((operand, _)) => Ok(operand),
            None => self.refuse(inst, "an operand is missing"),
        }
    }

    pub(super) fn load(&mut self, inst: &Inst) -> Result<Act, Error> {
        let result = self.operand(inst, |role| role == Role::Def)?.clone();
        let items = self.elements(inst, &result)?;
        let signed = inst.mods.t().is_some_and(crate::types::Ty::is_signed);
        let space = match self.space(inst)? {
            Target::Param => return self.load_param(inst, items, signed),
            Target::In(space) => space,
        };
        let mut op = self.memory(inst, space)?;
        for item in items {
            let class = (op.elem == 8).then_some(Class::W64);
            let slot = self.target(inst, item, class)?;
            if slot.class == Class::Pred {
                return self.refuse(inst, "a predicate cannot be loaded");
            }
            op.regs.push(slot);
        }
        if signed {
            op.sign = items.iter().map(|item| register_bits(self.entry, item)).max().unwrap_or(0);
        }
        op.words = op.elem == 4 && op.regs.iter().all(|slot| slot.class == Class::W32);
        Ok(Act::Load(Box::new(op)))
    }

    fn load_param(&mut self, inst: &Inst, items: &[Operand], signed: bool) -> Result<Act, Error> {
        let addr = self.address(inst)?;
        let argument = parameter(addr.base).and_then(|index| self.arguments.get(index)).copied();
        let (Some(argument), Some(elem)) = (argument, inst.mods.t().and_then(element_bytes)) else {
            return self.refuse(inst, "no such parameter");
        };
        let param = &self.entry.params[parameter(addr.base).unwrap_or(0)];
        let fits = u32::try_from(addr.offset).is_ok_and(|offset| offset + elem <= param.ty.bytes());
        let ([item], true) = (items, fits) else {
            return self.refuse(inst, format!("{elem} bytes at {} of a {} parameter", addr.offset, param.ty));
        };
        let slot = self.target(inst, item, None)?;
        let raw = argument.bits >> (8 * addr.offset);
        let bits = extend(raw, elem * 8, if signed { register_bits(self.entry, item) } else { 0 });
        let source = self.constant(slot.class, bits);
        match slot.class {
            Class::W32 => Ok(Act::Copy32(slot.at, source)),
            Class::W64 => Ok(Act::Copy64(slot.at, source)),
            Class::Pred => self.refuse(inst, "a predicate cannot be loaded"),
        }
    }

    pub(super) fn store(&mut self, inst: &Inst) -> Result<Act, Error> {
        let value = self.operand(inst, |role| matches!(role, Role::Use | Role::UseReg))?.clone();
        let Target::In(space) = self.space(inst)? else {
            return self.refuse(inst, "a store to a parameter");
        };
        let mut op = self.memory(inst, space)?;
        for item in self.elements(inst, &value)? {
            let class = match item {
                Operand::Imm(_) if op.elem == 8 => Some(Class::W64),
                Operand::Imm(_) => Some(Class::W32),
                _ => (op.elem == 8).then_some(Class::W64),
            };
            let slot = self.source(inst, item, class)?;
            if slot.class == Class::Pred {
                return self.refuse(inst, "a predicate cannot be stored");
            }
            op.regs.push(slot);
        }
        op.words = op.elem == 4 && op.regs.iter().all(|slot| slot.class == Class::W32);
        Ok(Act::Store(Box::new(op)))
    }

    pub(super) fn pack(&mut self, inst: &Inst, unpack: bool) -> Result<Act, Error> {
        let [first, second] = inst.operands.as_slice() else {
            return self.refuse(inst, "two operands are expected");
        };
        let (parts, whole) = if unpack { (first, second) } else { (second, first) };
        let Operand::Vec(parts) = parts else { return self.refuse(inst, "no parts") };
        let Some(total) = inst.mods.t().map(crate::types::Ty::bits) else {
            return self.refuse(inst, "no type");
        };
        let bits = total / parts.len().max(1) as u32;
        if !matches!(bits, 8 | 16 | 32) || bits * parts.len() as u32 != total {
            return self.refuse(inst, format!("{} parts of {total} bits", parts.len()));
        }
        let class = if total == 64 { Class::W64 } else { Class::W32 };
        let mut slots = Vec::with_capacity(parts.len());
        for part in parts {
            let slot = if unpack {
                self.target(inst, part, Some(Class::W32))?
            } else {
                self.source(inst, part, Some(Class::W32))?
            };
            slots.push((slot, bits));
        }
        let whole = if unpack {
            self.source(inst, whole, Some(class))?
        } else {
            self.target(inst, whole, Some(class))?
        };
        let op = Box::new(PackOp { whole, parts: slots });
        Ok(if unpack { Act::Unpack(op) } else { Act::Pack(op) })
    }

    /// The registers of the operands that are read, in order.
    fn uses(&mut self, inst: &Inst) -> Result<Vec<u32>, Error> {
        let specs = Form::of(inst.op).operands;
        let mut slots = Vec::new();
        for (operand, spec) in inst.operands.iter().zip(specs) {
            if spec.role != Role::Def {
                slots.push(self.source(inst, operand, Some(Class::W32))?.at);
            }
        }
        Ok(slots)
    }

    pub(super) fn shuffle(&mut self, inst: &Inst) -> Result<Act, Error> {
        let mut results = Vec::new();
        let mut defs = Vec::new();
        for (operand, spec) in inst.operands.iter().zip(Form::of(inst.op).operands) {
            if spec.role == Role::Def {
                results.push(operand.clone());
            }
        }
        for (i, operand) in results.iter().enumerate() {
            defs.push(self.target(inst, operand, Some(if i == 0 { Class::W32 } else { Class::Pred }))?.at);
        }
        let uses = self.uses(inst)?;
        let (Some(mode), [a, b, c, members], Some(&d)) =
            (Shfl::of(&inst.mods), uses.as_slice(), defs.first())
        else {
            return self.refuse(inst, "not the operands of a shuffle");
        };
        let op = ShuffleOp { mode, d, p: defs.get(1).copied(), a: *a, b: *b, c: *c, members: *members };
        Ok(Act::Shuffle(Box::new(op)))
    }

    pub(super) fn barrier(&mut self, inst: &Inst) -> Result<Act, Error> {
        if has_literal(inst, "red") {
            let (defs, uses) = self.typed(inst)?;
            let ([d], [id, p]) = (defs.as_slice(), uses.as_slice()) else {
                return self.refuse(inst, "not the operands of a barrier");
            };
            let reduce = Some(Reduce { d: *d, p: p.at, how: BoolOp::of(&inst.mods) });
            return Ok(Act::Barrier(BarrierOp { kind: BarrierKind::Sync, id: id.at, count: None, reduce }));
        }
        let kind = if has_literal(inst, "warp") {
            BarrierKind::Warp
        } else if has_literal(inst, "arrive") {
            BarrierKind::Arrive
        } else if has_literal(inst, "sync") {
            BarrierKind::Sync
        } else {
            return self.refuse(inst, "this barrier is not emulated");
        };
        let uses = self.uses(inst)?;
        let id = match uses.first() {
            Some(id) => *id,
            None => self.constant(Class::W32, 0),
        };
        Ok(Act::Barrier(BarrierOp { kind, id, count: uses.get(1).copied(), reduce: None }))
    }
}

/// The low `bits` of `value`, sign-extended to `to` bits if that is not 0.
#[inline]
pub(crate) fn extend(value: u64, bits: u32, to: u32) -> u64 {
    let unused = 64 - bits.min(64);
    if to == 0 {
        value << unused >> unused
    } else {
        let wide = ((value << unused) as i64 >> unused) as u64;
        let unused = 64 - to.clamp(bits.min(64), 64);
        wide << unused >> unused
    }
}
