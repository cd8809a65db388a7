//! Modifiers: the values of the slots in an instruction's syntax.

use std::fmt;

use crate::types::Ty;

macro_rules! slots {
    ($($(#[$doc:meta])* $slot:ident $name:literal { $($variant:ident $text:literal,)* })*) => {
        /// A place in an instruction's syntax that takes one of several values.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Slot {
            /// The type of the instruction, or of its result.
            T,
            /// The type of the source, where it differs.
            S,
            $($(#[$doc])* $slot,)*
        }

        impl Slot {
            /// Every slot.
            pub const ALL: &'static [Slot] = &[Slot::T, Slot::S, $(Slot::$slot,)*];

            /// How row syntaxes name it.
            pub const fn name(self) -> &'static str {
                match self { Slot::T => "T", Slot::S => "S", $(Slot::$slot => $name,)* }
            }

            /// The texts of its values, in order; empty for the type slots.
            pub const fn values(self) -> &'static [&'static str] {
                match self { Slot::T | Slot::S => &[], $(Slot::$slot => &[$($text,)*],)* }
            }
        }

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
            #[repr(u8)]
            #[allow(missing_docs, reason = "the variants are the modifiers of the PTX manual")]
            pub enum $slot { $($variant,)* }

            impl $slot {
                /// The modifier as a value of its slot.
                pub const fn get(self) -> Mod {
                    Mod { slot: Slot::$slot, value: self as u8 + 1 }
                }

                /// The value that `mods` hold for this slot.
                pub fn of(mods: &Mods) -> Option<$slot> {
                    const ALL: &[$slot] = &[$($slot::$variant,)*];
                    ALL.get(usize::from(mods.raw(Slot::$slot)).wrapping_sub(1)).copied()
                }
            }

            impl From<$slot> for Mod {
                fn from(value: $slot) -> Mod {
                    value.get()
                }
            }
        )*
    };
}

slots! {
    /// Rounding of a floating-point result.
    Rnd "rnd" { Rn "rn", Rz "rz", Rm "rm", Rp "rp", Rna "rna", }
    /// Rounding to an integral value.
    IRnd "irnd" { Rni "rni", Rzi "rzi", Rmi "rmi", Rpi "rpi", }
    /// Flush subnormal inputs and results to sign-preserving zero.
    Ftz "ftz" { Ftz "ftz", }
    /// Clamp the result.
    Sat "sat" { Sat "sat", }
    /// Clamp a float result to the largest finite value.
    Satfinite "satfinite" { Satfinite "satfinite", }
    /// Clamp negative results to zero.
    Relu "relu" { Relu "relu", }
    /// NaN in, NaN out.
    Nan "nan" { Nan "NaN", }
    /// Magnitudes of the operands.
    Abs "abs" { Abs "abs", }
    /// Comparison.
    Cmp "cmp" {
        Eq "eq", Ne "ne", Lt "lt", Le "le", Gt "gt", Ge "ge", Lo "lo", Ls "ls", Hi "hi", Hs "hs",
        Equ "equ", Neu "neu", Ltu "ltu", Leu "leu", Gtu "gtu", Geu "geu", Num "num", Nan "nan",
    }
    /// How a comparison, or a barrier, combines predicates.
    BoolOp "bool" { And "and", Or "or", Xor "xor", }
    /// Class of numbers that `testp` asks for.
    TestClass "class" {
        Finite "finite", Infinite "infinite", Number "number", Notanumber "notanumber", Normal "normal",
        Subnormal "subnormal",
    }
    /// The half of a product that is kept.
    Half "half" { Lo "lo", Hi "hi", }
    /// Direction of a funnel shift.
    Direction "direction" { L "l", R "r", }
    /// What shift amounts above the width mean.
    Amount "amount" { Clamp "clamp", Wrap "wrap", }
    /// Count from the top of the word: the shift that would bring the bit there.
    ShiftAmt "shiftamt" { ShiftAmt "shiftamt", }
    /// State space of an access.
    Space "space" {
        Global "global", Shared "shared", Param "param", Local "local", Const "const",
        SharedCta "shared::cta", SharedCluster "shared::cluster",
    }
    /// Number of elements of a vector access.
    Vec "vec" { V2 "v2", V4 "v4", V8 "v8", }
    /// Cache operator of a load.
    LdCop "ldcop" { Ca "ca", Cg "cg", Cs "cs", Lu "lu", Cv "cv", }
    /// Cache operator of a store.
    StCop "stcop" { Wb "wb", Cg "cg", Cs "cs", Wt "wt", }
    /// L1 eviction priority.
    L1 "l1" {
        EvictNormal "L1::evict_normal", EvictUnchanged "L1::evict_unchanged", EvictFirst "L1::evict_first",
        EvictLast "L1::evict_last", NoAllocate "L1::no_allocate",
    }
    /// L2 eviction priority of a 256-bit access.
    L2 "l2" { EvictLast "L2::evict_last", EvictNormal "L2::evict_normal", EvictFirst "L2::evict_first", }
    /// L2 prefetch size.
    L2Prefetch "l2prefetch" { B64 "L2::64B", B128 "L2::128B", B256 "L2::256B", }
    /// The cache level that a prefetch fills, and how the line is kept there.
    Level "cachelevel" {
        L1 "L1", L2 "L2", L2EvictLast "L2::evict_last", L2EvictNormal "L2::evict_normal",
    }
    /// Priority that a cache policy gives to a fraction of the accesses.
    Primary "primary" {
        EvictLast "L2::evict_last", EvictNormal "L2::evict_normal", EvictFirst "L2::evict_first",
        EvictUnchanged "L2::evict_unchanged",
    }
    /// Priority that a cache policy gives to the other accesses.
    Secondary "secondary" { EvictFirst "L2::evict_first", EvictUnchanged "L2::evict_unchanged", }
    /// Memory ordering.
    Sem "sem" {
        Relaxed "relaxed", Acquire "acquire", Release "release", AcqRel "acq_rel", Sc "sc",
    }
    /// The threads that an ordering is for.
    Scope "scope" { Cta "cta", Cluster "cluster", Gpu "gpu", Sys "sys", }
    /// The threads that `membar` orders accesses for.
    Membar "membar" { Cta "cta", Gl "gl", Sys "sys", }
    /// What an atomic access or a warp-wide reduction computes.
    AtomOp "op" {
        Add "add", Min "min", Max "max", And "and", Or "or", Xor "xor", Exch "exch", Inc "inc", Dec "dec",
    }
    /// Lane permutation of a shuffle.
    Shfl "shfl" { Up "up", Down "down", Bfly "bfly", Idx "idx", }
    /// What a vote asks of the lanes.
    Vote "vote" { All "all", Any "any", Uni "uni", }
    /// All threads of a warp execute the barrier together.
    Aligned "aligned" { Aligned "aligned", }
    /// The arrival does not raise the pending count first.
    Noinc "noinc" { Noinc "noinc", }
    /// Wait until the sources have been read only.
    Read "read" { Read "read", }
    /// Uniform branch target.
    Uni "uni" { Uni "uni", }
}

/// A modifier: a slot and one of its values.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mod {
    /// The slot.
    pub slot: Slot,
    /// 1-based index of the value; 0 means absent and never stands in a `Mod`.
    pub value: u8,
}

impl Mod {
    /// A value of slot `T`.
    pub const fn t(ty: Ty) -> Mod {
        Mod { slot: Slot::T, value: ty as u8 + 1 }
    }

    /// A value of slot `S`.
    pub const fn s(ty: Ty) -> Mod {
        Mod { slot: Slot::S, value: ty as u8 + 1 }
    }

    /// The type, for a value of a type slot.
    pub fn ty(self) -> Option<Ty> {
        matches!(self.slot, Slot::T | Slot::S).then(|| Ty::ALL[usize::from(self.value) - 1])
    }

    /// The value of `slot` that is written `text` (without the dot).
    pub fn from_text(slot: Slot, text: &str) -> Option<Mod> {
        let index = match slot {
            Slot::T | Slot::S => Ty::ALL.iter().position(|ty| ty.suffix() == text)?,
            slot => slot.values().iter().position(|value| *value == text)?,
        };
        Some(Mod { slot, value: index as u8 + 1 })
    }

    /// How it is written, without the dot.
    pub fn text(self) -> &'static str {
        match self.ty() {
            Some(ty) => ty.suffix(),
            None => self.slot.values()[usize::from(self.value) - 1],
        }
    }
}

impl fmt::Debug for Mod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.text())
    }
}

/// The modifiers of one instruction: at most one value per slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mods([u8; Slot::ALL.len()]);

impl Default for Mods {
    fn default() -> Mods {
        Mods::NONE
    }
}

impl Mods {
    /// No modifier.
    pub const NONE: Mods = Mods([0; Slot::ALL.len()]);

    /// The given modifiers; a later value of a slot replaces an earlier one.
    pub fn new(mods: &[Mod]) -> Mods {
        let mut all = Mods::NONE;
        for m in mods {
            all.set(*m);
        }
        all
    }

    /// Sets a slot.
    pub fn set(&mut self, modifier: Mod) {
        self.0[modifier.slot as usize] = modifier.value;
    }

    /// These modifiers and one more.
    pub fn with(mut self, modifier: Mod) -> Mods {
        self.set(modifier);
        self
    }

    /// The value of a slot.
    pub fn get(&self, slot: Slot) -> Option<Mod> {
        let value = self.raw(slot);
        (value != 0).then_some(Mod { slot, value })
    }

    /// Whether a slot has just this value.
    pub fn has(&self, modifier: Mod) -> bool {
        self.raw(modifier.slot) == modifier.value
    }

    /// 1-based value index of a slot, 0 if absent.
    pub fn raw(&self, slot: Slot) -> u8 {
        self.0[slot as usize]
    }

    /// The type in slot `T`.
    pub fn t(&self) -> Option<Ty> {
        self.get(Slot::T).and_then(Mod::ty)
    }

    /// The type in slot `S`.
    pub fn s(&self) -> Option<Ty> {
        self.get(Slot::S).and_then(Mod::ty)
    }

    /// Elements of a vector access; 1 without `.vec`.
    pub fn vec(&self) -> usize {
        match Vec::of(self) {
            None => 1,
            Some(Vec::V2) => 2,
            Some(Vec::V4) => 4,
            Some(Vec::V8) => 8,
        }
    }

    /// Every modifier that is present.
    pub fn iter(&self) -> impl Iterator<Item = Mod> + '_ {
        Slot::ALL.iter().filter_map(|slot| self.get(*slot))
    }
}

impl fmt::Debug for Mods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
