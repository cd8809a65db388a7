//! Special registers.

use std::fmt;
use std::sync::OnceLock;

use crate::hash::FastSet;
use crate::target::PtxVersion;
use crate::types::Ty;

macro_rules! special {
    ($($variant:ident $name:literal $ty:ident ($major:literal, $minor:literal) $sm:literal $kind:ident $doc:literal,)*) => {
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

            /// What it holds.
            pub const fn doc(self) -> &'static str {
                match self { $(SpecialReg::$variant => $doc,)* }
            }

            /// Its type.
            pub const fn ty(self) -> Ty {
                match self { $(SpecialReg::$variant => Ty::$ty,)* }
            }

            /// First PTX version and architecture that has it.
            pub const fn since(self) -> (PtxVersion, u16) {
                match self { $(SpecialReg::$variant => (PtxVersion::new($major, $minor), $sm),)* }
            }

            const fn kind(self) -> Kind {
                match self { $(SpecialReg::$variant => Kind::$kind,)* }
            }
        }
    };
}

special! {
    TidX "%tid.x" U32 (3, 0) 30 Varying "Index of the thread in its block, x.",
    TidY "%tid.y" U32 (3, 0) 30 Varying "Index of the thread in its block, y.",
    TidZ "%tid.z" U32 (3, 0) 30 Varying "Index of the thread in its block, z.",
    NtidX "%ntid.x" U32 (3, 0) 30 Uniform "Threads of a block, x.",
    NtidY "%ntid.y" U32 (3, 0) 30 Uniform "Threads of a block, y.",
    NtidZ "%ntid.z" U32 (3, 0) 30 Uniform "Threads of a block, z.",
    CtaidX "%ctaid.x" U32 (3, 0) 30 Uniform "Index of the block in the grid, x.",
    CtaidY "%ctaid.y" U32 (3, 0) 30 Uniform "Index of the block in the grid, y.",
    CtaidZ "%ctaid.z" U32 (3, 0) 30 Uniform "Index of the block in the grid, z.",
    NctaidX "%nctaid.x" U32 (3, 0) 30 Uniform "Blocks of the grid, x.",
    NctaidY "%nctaid.y" U32 (3, 0) 30 Uniform "Blocks of the grid, y.",
    NctaidZ "%nctaid.z" U32 (3, 0) 30 Uniform "Blocks of the grid, z.",
    LaneId "%laneid" U32 (3, 0) 30 Varying "Index of the thread in its warp.",
    LanemaskEq "%lanemask_eq" U32 (3, 0) 30 Varying "The bit of the own lane.",
    LanemaskLe "%lanemask_le" U32 (3, 0) 30 Varying "The bits of the own lane and those below.",
    LanemaskLt "%lanemask_lt" U32 (3, 0) 30 Varying "The bits of the lanes below the own one.",
    LanemaskGe "%lanemask_ge" U32 (3, 0) 30 Varying "The bits of the own lane and those above.",
    LanemaskGt "%lanemask_gt" U32 (3, 0) 30 Varying "The bits of the lanes above the own one.",
    WarpId "%warpid" U32 (3, 0) 30 Changing "Index of the warp in its block, for diagnosis only: it may change.",
    NwarpId "%nwarpid" U32 (3, 0) 30 Uniform "Most warps of a block, for diagnosis.",
    SmId "%smid" U32 (3, 0) 30 Changing "Index of the multiprocessor, for diagnosis only: it may change.",
    NsmId "%nsmid" U32 (3, 0) 30 Uniform "One more than the largest index of a multiprocessor.",
    GridId "%gridid" U64 (3, 0) 30 Uniform "A number of the launch.",
    Clock "%clock" U32 (3, 0) 30 Changing "Cycles, modulo 2^32.",
    Clock64 "%clock64" U64 (3, 0) 30 Changing "Cycles.",
    GlobalTimer "%globaltimer" U64 (3, 1) 30 Changing "Nanoseconds.",
    DynamicSmemSize "%dynamic_smem_size" U32 (4, 1) 30 Uniform "Bytes of dynamic shared memory.",
    TotalSmemSize "%total_smem_size" U32 (4, 1) 30 Uniform "Bytes of shared memory of the block.",
    ClusterIdX "%clusterid.x" U32 (7, 8) 90 Uniform "Index of the cluster in the grid, x.",
    NclusterIdX "%nclusterid.x" U32 (7, 8) 90 Uniform "Clusters of the grid, x.",
    ClusterCtaidX "%cluster_ctaid.x" U32 (7, 8) 90 Uniform "Index of the block in its cluster, x.",
    ClusterNctaidX "%cluster_nctaid.x" U32 (7, 8) 90 Uniform "Blocks of the cluster, x.",
    ClusterCtarank "%cluster_ctarank" U32 (7, 8) 90 Uniform "Rank of the block in its cluster.",
    ClusterNctarank "%cluster_nctarank" U32 (7, 8) 90 Uniform "Blocks of the cluster.",
    IsExplicitCluster "%is_explicit_cluster" Pred (7, 8) 90 Uniform "Whether the launch named a cluster size.",
}

/// How a special register's value varies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The same for the threads of a block, as long as they run.
    Uniform,
    /// Differs between the threads of a block.
    Varying,
    /// Differs from one read to the next.
    Changing,
}

impl SpecialReg {
    /// Whether the threads of a block may read different values.
    pub fn is_varying(self) -> bool {
        self.kind() != Kind::Uniform
    }

    /// Whether two reads by one thread may differ, so that they must not be merged.
    pub fn changes(self) -> bool {
        self.kind() == Kind::Changing
    }

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

/// Whether a special register has this name up to its selector: `tid`, `laneid`. The assembler reads a register of that
/// name, with the percent sign, as the predefined one.
pub(crate) fn is_base(name: &str) -> bool {
    static BASES: OnceLock<FastSet<&'static str>> = OnceLock::new();
    let bases = BASES.get_or_init(|| {
        let base = |special: &SpecialReg| {
            let name = special.name().trim_start_matches('%');
            name.split_once('.').map_or(name, |(base, _)| base)
        };
        SpecialReg::ALL.iter().map(base).collect()
    });
    bases.contains(name)
}
