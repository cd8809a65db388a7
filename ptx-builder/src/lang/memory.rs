//! Views of memory.
//!
//! A [`Global`] view is an address with a storage dtype and a promised alignment, all three but the address known while the
//! text is made. Loads widen to f32 and stores round once, so that one body serves every mix of dtypes. Row bases are
//! 64-bit from the start. An access is as wide as the promised alignment allows, up to 16 bytes, written as `.v4` of 32-bit
//! elements.
//!
//! A `Global` is read through the read-only path (`.nc`): a launch refuses arguments that overlap a written one.

use crate::builder::with;
use crate::ir::{self, Addr, Base, Guard, Place};
use crate::isa::mods::{Space, StCop, Vec as VecMod};
use crate::isa::{Mod, Mods, Op};
use crate::lang::packed::{Packed, Word};
use crate::types::{Dtype, Ty};
use crate::value::{B32, B64, Operand, Scalar, Value, emit_value};

/// Declares a scalar parameter and reads it.
#[track_caller]
pub fn scalar_param<T: Scalar>(name: &str) -> Value<T> {
    let place = Place::caller();
    let id = with(|b| b.param(name, T::TY, None, place));
    read_param(id, T::TY, place).named(name)
}

#[track_caller]
fn read_param<T: Scalar>(id: ir::ParamId, ty: Ty, place: Place) -> Value<T> {
    with(|b| {
        let handle = b.reg(ty, false);
        let address = ir::Operand::Addr(Addr { base: Base::Param(id), offset: 0 });
        b.push(
            Op::LdParam,
            Mods::new(&[Mod::t(ty)]),
            vec![ir::Operand::Reg(handle.reg), address],
            None,
            place,
        );
        Value::from_handle(handle)
    })
}

/// A position in a view: known while the text is made, or not.
#[derive(Debug, Clone, Copy)]
struct View {
    address: Value<u64>,
    /// Constant bytes behind `address`.
    offset: i64,
    dtype: Dtype,
    /// Alignment of `address` in bytes.
    align: u32,
    /// L2 cache policy of its loads.
    policy: Option<Value<B64>>,
    /// Stores are marked as streaming: unlikely to be read again soon.
    streaming: bool,
}

impl View {
    #[track_caller]
    fn param(name: &str, dtype: Dtype, align: u32) -> View {
        let place = Place::caller();
        let align = align.max(dtype.bytes());
        let id = with(|b| b.param(name, Ty::U64, Some(align), place));
        let generic: Value<u64> = read_param(id, Ty::U64, place).named(&format!("{name}_param"));
        let mods = [Space::Global.get(), Mod::t(Ty::U64)];
        let address = emit_value::<u64>(Op::CvtaTo, &mods, vec![generic.operand()]).named(name);
        View { address, offset: 0, dtype, align, policy: None, streaming: false }
    }

    fn bytes(&self) -> u32 {
        self.dtype.bytes()
    }

    /// The view from element `index * stride` on.
    #[track_caller]
    fn row(self, index: impl Operand<u32>, stride: u32) -> View {
        let step = u64::from(stride) * u64::from(self.bytes());
        let align = self.align.min(1 << step.trailing_zeros().min(30));
        let mods = [Mod::t(Ty::U32)];
        let step = match u32::try_from(step) {
            Ok(step) => step,
            Err(_) => {
                with(|b| b.error(Place::caller(), format!("a row of {step} bytes exceeds 2^32")));
                u32::MAX
            }
        };
        let operands = vec![index.operand(), step.operand(), self.address.operand()];
        View { address: emit_value(Op::MadWide, &mods, operands), align, ..self }
    }

    /// The view from element `index * stride` on, with a stride of the run; rows keep the alignment that the launch checks.
    #[track_caller]
    fn row_strided(self, index: impl Operand<u32>, stride: impl Operand<i64>) -> View {
        let index: Value<u64> =
            emit_value(Op::Cvt, &[Mod::t(Ty::U64), Mod::s(Ty::U32)], vec![index.operand()]);
        let bytes = stride.value() * i64::from(self.bytes());
        let step = index.retype::<i64>() * bytes;
        View { address: self.address + step.retype::<u64>(), ..self }
    }

    /// The view from element `index` on, where `index` is a multiple of `multiple`.
    #[track_caller]
    fn at(self, index: impl Operand<u32>, multiple: u32) -> View {
        let step = multiple.max(1) * self.bytes();
        let align = self.align.min(1 << step.trailing_zeros());
        let operands = vec![index.operand(), self.bytes().operand(), self.address.operand()];
        View { address: emit_value(Op::MadWide, &[Mod::t(Ty::U32)], operands), align, ..self }
    }

    /// The view from element `count` on.
    fn skip(self, count: u32) -> View {
        View { offset: self.offset + i64::from(count) * i64::from(self.bytes()), ..self }
    }

    /// Alignment of the first element, in bytes.
    fn first_align(&self) -> u32 {
        match self.offset {
            0 => self.align,
            offset => self.align.min(1 << offset.trailing_zeros().min(30)),
        }
    }

    fn addr(&self, place: Place) -> ir::Operand {
        let reg = match self.address.operand() {
            ir::Operand::Reg(reg) => reg,
            _ => self.address.reg(),
        };
        let _ = place;
        ir::Operand::Addr(Addr { base: Base::Reg(reg), offset: self.offset })
    }
}

/// One access of a vector: element type, elements of an access, accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Access {
    ty: Ty,
    /// Buffer elements in one register.
    per_register: usize,
    /// Registers of the access.
    registers: usize,
}

/// Cuts `count` elements from an address of alignment `align` into accesses, widest first.
fn accesses(dtype: Dtype, mut count: usize, align: u32) -> Vec<Access> {
    let mut out = Vec::new();
    let bytes = dtype.bytes() as usize;
    let widest = (align as usize).clamp(bytes, 16);
    while count > 0 {
        let mut width = widest;
        while width > count * bytes {
            width /= 2;
        }
        let width = width.max(bytes);
        let access = match (bytes, width) {
            (4, _) => Access { ty: Ty::F32, per_register: 1, registers: width / 4 },
            (_, 2) => Access { ty: Ty::B16, per_register: 1, registers: 1 },
            (_, _) => Access { ty: Ty::B32, per_register: 2, registers: width / 4 },
        };
        out.push(access);
        count -= access.per_register * access.registers;
    }
    out
}

fn vec_mod(registers: usize) -> Option<Mod> {
    match registers {
        2 => Some(VecMod::V2.get()),
        4 => Some(VecMod::V4.get()),
        8 => Some(VecMod::V8.get()),
        _ => None,
    }
}

/// A guard on an access, and what an unread element is.
type Condition = Option<Value<bool>>;

#[track_caller]
fn guard_of(condition: Condition) -> Option<Guard> {
    condition.map(|condition| Guard { pred: condition.reg(), negated: false })
}

#[track_caller]
fn load(view: View, count: usize, read_only: bool, condition: Condition) -> Packed {
    let place = Place::caller();
    let guard = guard_of(condition);
    let mut words = Vec::with_capacity(count);
    let mut view = view;
    for access in accesses(view.dtype, count, view.first_align()) {
        let register_ty = if access.ty == Ty::B16 && view.dtype == Dtype::F16 { Ty::F16 } else { access.ty };
        let address = view.addr(place);
        let policy = view.policy.map(|policy| policy.operand());
        with(|b| {
            let mut handles = Vec::with_capacity(access.registers);
            for _ in 0..access.registers {
                let handle = b.reg(register_ty, guard.is_some());
                if guard.is_some() {
                    // Lanes that do not load hold zero, the neutral element of the sums that follow.
                    let zero = crate::imm::Imm::new(bits_or_float(register_ty), 0);
                    let mods = Mods::new(&[Mod::t(bits_or_float(register_ty))]);
                    b.push(
                        Op::Mov,
                        mods,
                        vec![ir::Operand::Reg(handle.reg), ir::Operand::Imm(zero)],
                        None,
                        place,
                    );
                }
                handles.push(handle);
            }
            let mut mods = Mods::new(&[Mod::t(access.ty)]);
            if let Some(vec) = vec_mod(access.registers) {
                mods.set(vec);
            }
            let op = match (read_only, policy.is_some()) {
                (true, true) => Op::LdNcHint,
                (true, false) => Op::LdNc,
                (false, true) => Op::LdHint,
                (false, false) => {
                    mods.set(Space::Global.get());
                    Op::Ld
                }
            };
            let registers: Vec<ir::Operand> = handles.iter().map(|h| ir::Operand::Reg(h.reg)).collect();
            let destination =
                if registers.len() == 1 { registers[0].clone() } else { ir::Operand::Vec(registers) };
            let operands = [Some(destination), Some(address), policy.clone()].into_iter().flatten().collect();
            b.push(op, mods, operands, guard, place);
            words.extend(handles.into_iter().map(|handle| match register_ty {
                Ty::F32 => Word::F32(Value::from_handle(handle)),
                Ty::F16 => Word::F16(Value::from_handle(handle)),
                Ty::B16 => Word::Bf16(Value::from_handle(handle)),
                _ => Word::Pair(Value::from_handle(handle)),
            }));
        });
        view = view.skip((access.per_register * access.registers) as u32);
    }
    Packed::new(view.dtype, words)
}

/// The type that `mov` writes a literal of: f16 has no literals of its own.
const fn bits_or_float(ty: Ty) -> Ty {
    match ty {
        Ty::F16 => Ty::B16,
        other => other,
    }
}

#[track_caller]
fn store(view: View, values: &[Value<f32>], condition: Condition) {
    let place = Place::caller();
    let guard = guard_of(condition);
    let mut view = view;
    let mut rest = values;
    for access in accesses(view.dtype, values.len(), view.first_align()) {
        let count = access.per_register * access.registers;
        let (now, later) = rest.split_at(count);
        rest = later;
        let packed = Packed::pack(view.dtype, now);
        let registers: Vec<ir::Operand> = packed
            .words()
            .iter()
            .map(|word| match *word {
                Word::F32(value) => value.operand(),
                Word::Pair(value) => value.operand(),
                Word::F16(value) => value.operand(),
                Word::Bf16(value) => value.operand(),
            })
            .collect();
        let address = view.addr(place);
        with(|b| {
            let mut mods = Mods::new(&[Space::Global.get(), Mod::t(access.ty)]);
            if let Some(vec) = vec_mod(access.registers) {
                mods.set(vec);
            }
            if view.streaming {
                mods.set(StCop::Cs.get());
            }
            let source =
                if registers.len() == 1 { registers[0].clone() } else { ir::Operand::Vec(registers) };
            b.push(Op::St, mods, vec![address, source], guard, place);
        });
        view = view.skip(count as u32);
    }
}

macro_rules! view_methods {
    ($name:ident, $read_only:literal) => {
        impl $name {
            /// The buffer that parameter `name` points to.
            #[track_caller]
            pub fn param(name: &str, dtype: Dtype, align: u32) -> $name {
                $name(View::param(name, dtype, align))
            }

            /// Storage dtype.
            pub fn dtype(self) -> Dtype {
                self.0.dtype
            }

            /// The view from element `index * stride` on; the product is formed in 64 bits.
            #[track_caller]
            pub fn row(self, index: impl Operand<u32>, stride: u32) -> $name {
                $name(self.0.row(index, stride))
            }

            /// The view from element `index * stride` on, with a stride known when the kernel runs. Rows keep the view's
            /// alignment: the launch checks that the stride does.
            #[track_caller]
            pub fn row_strided(self, index: impl Operand<u32>, stride: impl Operand<i64>) -> $name {
                $name(self.0.row_strided(index, stride))
            }

            /// The view from element `index` on; `index` is a multiple of `multiple`, which keeps the alignment known.
            #[track_caller]
            pub fn at(self, index: impl Operand<u32>, multiple: u32) -> $name {
                $name(self.0.at(index, multiple))
            }

            /// The view from element `count` on.
            pub fn skip(self, count: u32) -> $name {
                $name(self.0.skip(count))
            }

            /// The view under its name, for readers of the text.
            pub fn named(self, name: &str) -> $name {
                $name(View { address: self.0.address.named(name), ..self.0 })
            }

            /// The view whose loads follow an L2 cache policy (sm_80 and newer; see
            /// [`policy_evict_last`](crate::ops::policy_evict_last)).
            pub fn with_policy(self, policy: Option<Value<B64>>) -> $name {
                $name(View { policy, ..self.0 })
            }

            /// Loads the first `count` elements, packed.
            #[track_caller]
            pub fn load_packed(self, count: usize) -> Packed {
                load(self.0, count, $read_only, None)
            }

            /// Loads the first `count` elements where `condition` holds; they are zero elsewhere.
            #[track_caller]
            pub fn load_packed_if(self, condition: Value<bool>, count: usize) -> Packed {
                load(self.0, count, $read_only, Some(condition))
            }

            /// Loads the first element as f32.
            #[track_caller]
            pub fn load_first(self) -> Value<f32> {
                load(self.0, 1, $read_only, None).unpack()[0]
            }

            /// Loads element `index` as f32.
            #[track_caller]
            pub fn load(self, index: impl Operand<u32>) -> Value<f32> {
                self.at(index, 1).load_first()
            }
        }
    };
}

/// A read-only view of global memory.
#[derive(Debug, Clone, Copy)]
pub struct Global(View);

/// A writable view of global memory.
#[derive(Debug, Clone, Copy)]
pub struct GlobalMut(View);

view_methods!(Global, true);
view_methods!(GlobalMut, false);

impl GlobalMut {
    /// The view whose stores are marked as streaming (`.cs`): unlikely to be read again soon.
    pub fn streaming(self) -> GlobalMut {
        GlobalMut(View { streaming: true, ..self.0 })
    }

    /// Stores values to the first elements, each rounded once to the storage dtype.
    #[track_caller]
    pub fn store_packed(self, values: &[Value<f32>]) {
        store(self.0, values, None);
    }

    /// Stores values where `condition` holds.
    #[track_caller]
    pub fn store_packed_if(self, condition: Value<bool>, values: &[Value<f32>]) {
        store(self.0, values, Some(condition));
    }

    /// Stores to element `index`.
    #[track_caller]
    pub fn store(self, index: impl Operand<u32>, value: impl Operand<f32>) {
        store(self.at(index, 1).0, &[value.value()], None);
    }
}

/// A shared array of `T`.
#[derive(Debug, Clone, Copy)]
pub struct Shared<T: Scalar> {
    id: ir::SharedId,
    ty: std::marker::PhantomData<fn() -> T>,
}

impl<T: Scalar> Shared<T> {
    /// Declares an array of `len` elements, aligned to 16 bytes.
    #[track_caller]
    pub fn new(name: &str, len: u32) -> Shared<T> {
        let place = Place::caller();
        let id = with(|b| b.shared(name, T::TY, Some(len), 16, place));
        Shared { id, ty: std::marker::PhantomData }
    }

    /// Declares an array whose size is given at the launch, aligned to 16 bytes.
    #[track_caller]
    pub fn dynamic(name: &str) -> Shared<T> {
        let place = Place::caller();
        let id = with(|b| b.shared(name, T::TY, None, 16, place));
        Shared { id, ty: std::marker::PhantomData }
    }

    /// Declares a dynamic array if `wanted`.
    #[track_caller]
    pub fn dynamic_if(wanted: bool, name: &str) -> Option<Shared<T>> {
        // A closure would be a place of its own.
        if wanted { Some(Shared::dynamic(name)) } else { None }
    }

    /// The address of element `index`.
    #[track_caller]
    pub fn at(self, index: impl Operand<u32>) -> SharedRef<T> {
        let base: Value<u32> = emit_value(Op::Mov, &[Mod::t(Ty::U32)], vec![ir::Operand::Shared(self.id)]);
        let bytes = T::TY.bytes();
        let address =
            emit_value(Op::MadLo, &[Mod::t(Ty::U32)], vec![index.operand(), bytes.operand(), base.operand()]);
        SharedRef { address, offset: 0, ty: std::marker::PhantomData }
    }
}

/// A place in a shared array.
#[derive(Debug, Clone, Copy)]
pub struct SharedRef<T: Scalar> {
    address: Value<u32>,
    offset: i64,
    ty: std::marker::PhantomData<fn() -> T>,
}

impl<T: Scalar> SharedRef<T> {
    /// The address in the shared state space, and constant bytes behind it.
    pub(crate) fn address(self) -> (Value<u32>, i64) {
        (self.address, self.offset)
    }

    /// The place `count` elements further.
    pub fn skip(self, count: u32) -> SharedRef<T> {
        SharedRef { offset: self.offset + i64::from(count) * i64::from(T::TY.bytes()), ..self }
    }

    /// The place `index * stride` elements further.
    #[track_caller]
    pub fn row(self, index: impl Operand<u32>, stride: u32) -> SharedRef<T> {
        let step = (stride * T::TY.bytes()).operand();
        let address =
            emit_value(Op::MadLo, &[Mod::t(Ty::U32)], vec![index.operand(), step, self.address.operand()]);
        SharedRef { address, ..self }
    }

    #[track_caller]
    fn addr(self) -> ir::Operand {
        ir::Operand::Addr(Addr { base: Base::Reg(self.address.reg()), offset: self.offset })
    }

    /// Loads the element.
    #[track_caller]
    pub fn load(self) -> Value<T> {
        self.load_vec(1)[0]
    }

    /// Loads `count` consecutive elements in one access: 1, 2 or 4 of 32 bits; the place is aligned to their size.
    #[track_caller]
    pub fn load_vec(self, count: usize) -> Vec<Value<T>> {
        let place = Place::caller();
        let address = self.addr();
        with(|b| {
            let handles: Vec<_> = (0..count).map(|_| b.reg(T::TY, false)).collect();
            let mut mods = Mods::new(&[Space::Shared.get(), Mod::t(T::TY)]);
            if let Some(vec) = vec_mod(count) {
                mods.set(vec);
            }
            let registers: Vec<ir::Operand> = handles.iter().map(|h| ir::Operand::Reg(h.reg)).collect();
            let destination =
                if registers.len() == 1 { registers[0].clone() } else { ir::Operand::Vec(registers) };
            b.push(Op::Ld, mods, vec![destination, address], None, place);
            handles.into_iter().map(Value::from_handle).collect()
        })
    }

    /// Stores one element.
    #[track_caller]
    pub fn store(self, value: impl Operand<T>) {
        self.store_vec(&[value.value()]);
    }

    /// Stores consecutive elements in one access: 1, 2 or 4 of 32 bits; the place is aligned to their size.
    #[track_caller]
    pub fn store_vec(self, values: &[Value<T>]) {
        let place = Place::caller();
        let address = self.addr();
        let registers: Vec<ir::Operand> = values.iter().map(|value| value.operand()).collect();
        with(|b| {
            let mut mods = Mods::new(&[Space::Shared.get(), Mod::t(T::TY)]);
            if let Some(vec) = vec_mod(registers.len()) {
                mods.set(vec);
            }
            let source =
                if registers.len() == 1 { registers[0].clone() } else { ir::Operand::Vec(registers) };
            b.push(Op::St, mods, vec![address, source], None, place);
        });
    }
}

impl SharedRef<B32> {
    /// Stores the words of a 16-byte vector, as they are.
    #[track_caller]
    pub fn store_packed(self, packed: &Packed) {
        let words: Vec<Value<B32>> = packed
            .words()
            .iter()
            .filter_map(|word| match *word {
                Word::F32(value) => Some(value.bitcast()),
                Word::Pair(pair) => Some(pair),
                Word::F16(_) | Word::Bf16(_) => None,
            })
            .collect();
        if words.len() != packed.words().len() {
            with(|b| b.error(Place::caller(), "only whole 32-bit words can wait in shared memory"));
        }
        for (i, words) in words.chunks(4).enumerate() {
            self.skip(4 * i as u32).store_vec(words);
        }
    }

    /// Loads the words of a 16-byte vector of `dtype`.
    #[track_caller]
    pub fn load_packed(self, dtype: Dtype) -> Packed {
        let words = self.load_vec(4).into_iter();
        let words = match dtype.bytes() {
            4 => words.map(|word| Word::F32(word.bitcast())).collect(),
            _ => words.map(Word::Pair).collect(),
        };
        Packed::new(dtype, words)
    }
}
