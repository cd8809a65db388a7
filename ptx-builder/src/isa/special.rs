//! Special registers.

use std::fmt;

use crate::target::PtxVersion;
use crate::types::Ty;

macro_rules! special {
    ($($variant:ident $name:literal $ty:ident ($major:literal, $minor:literal) $sm:literal $varying:literal $doc:literal,)*) => {
        /// A predefined, read-only register.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SpecialReg { $(#[doc = $doc] $variant,)* }

        impl SpecialReg {
            /// Every special register.
            pub const ALL: &'static [SpecialReg] = &[$(SpecialReg::$variant,)*];

            /// Its name, with the percent sign.
            pub const fn name(self) -> &'static str {
                match self { $(SpecialReg::$variant => $name,)* }
            }

            /// Its type.
            pub const fn ty(self) -> Ty {
                match self { $(SpecialReg::$variant => Ty::$ty,)* }
            }

            /// First PTX version and architecture that has it.
            pub const fn since(self) -> (PtxVersion, u16) {
                match self { $(SpecialReg::$variant => (PtxVersion::new($major, $minor), $sm),)* }
            }

            /// Whether the threads of a block may read different values.
            pub const fn is_varying(self) -> bool {
                match self { $(SpecialReg::$variant => $varying,)* }
            }
        }
    };
}

special! {
    TidX "%tid.x" U32 (2, 0) 30 true "Index of the thread in its block, x.",
    TidY "%tid.y" U32 (2, 0) 30 true "Index of the thread in its block, y.",
    TidZ "%tid.z" U32 (2, 0) 30 true "Index of the thread in its block, z.",
    NtidX "%ntid.x" U32 (2, 0) 30 false "Threads of a block, x.",
    NtidY "%ntid.y" U32 (2, 0) 30 false "Threads of a block, y.",
    NtidZ "%ntid.z" U32 (2, 0) 30 false "Threads of a block, z.",
    CtaidX "%ctaid.x" U32 (2, 0) 30 false "Index of the block in the grid, x.",
    CtaidY "%ctaid.y" U32 (2, 0) 30 false "Index of the block in the grid, y.",
    CtaidZ "%ctaid.z" U32 (2, 0) 30 false "Index of the block in the grid, z.",
    NctaidX "%nctaid.x" U32 (2, 0) 30 false "Blocks of the grid, x.",
    NctaidY "%nctaid.y" U32 (2, 0) 30 false "Blocks of the grid, y.",
    NctaidZ "%nctaid.z" U32 (2, 0) 30 false "Blocks of the grid, z.",
    LaneId "%laneid" U32 (2, 0) 30 true "Index of the thread in its warp.",
}

impl SpecialReg {
    /// The register of a name such as `%tid.x`.
    pub fn from_name(name: &str) -> Option<SpecialReg> {
        SpecialReg::ALL.iter().copied().find(|special| special.name() == name)
    }
}

impl fmt::Display for SpecialReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
