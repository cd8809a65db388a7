//! Clusters: the blocks that run together and read each other's shared memory (compute capability 9.0 and newer).
//!
//! A block that leaves takes its shared memory with it: wait with [`cluster_sync`] before the end as long as another block may still
//! read. The number of blocks along x is set by `cluster = …` of the kernel's attribute.

use crate::builder::with;
use crate::ir::{self, Addr, Base, Place};
use crate::isa::mods::Space;
use crate::isa::{Mod, Mods, Op, SpecialReg};
use crate::lang::memory::SharedRef;
use crate::ops::{cluster_arrive, cluster_wait, mapa};
use crate::value::{Operand, Scalar, Value, special};

/// Rank of the block in its cluster: the same for all threads of a block.
#[track_caller]
pub fn cluster_rank() -> Value<u32> {
    special(SpecialReg::ClusterCtarank).named("rank")
}

/// Index of the cluster in the grid along x.
#[track_caller]
pub fn cluster_idx_x() -> Value<u32> {
    special(SpecialReg::ClusterIdX).named("cluster")
}

/// Waits for every thread of the cluster; what they wrote to shared memory before it is visible after it.
#[track_caller]
pub fn cluster_sync() {
    cluster_arrive();
    cluster_wait();
}

/// A place in the shared memory of a block of the cluster.
#[derive(Debug, Clone, Copy)]
pub struct ClusterRef<T: Scalar> {
    address: Value<u32>,
    offset: i64,
    ty: std::marker::PhantomData<fn() -> T>,
}

impl<T: Scalar> SharedRef<T> {
    /// The same place in block `rank` of the cluster.
    #[track_caller]
    pub fn in_block(self, rank: impl Operand<u32>) -> ClusterRef<T> {
        let (address, offset) = self.address();
        ClusterRef { address: mapa(address, rank), offset, ty: std::marker::PhantomData }
    }
}

impl<T: Scalar> ClusterRef<T> {
    fn addr(self) -> ir::Operand {
        ir::Operand::Addr(Addr { base: Base::Reg(self.address.reg()), offset: self.offset })
    }

    /// Loads the element.
    #[track_caller]
    pub fn load(self) -> Value<T> {
        let (place, address) = (Place::caller(), self.addr());
        with(|b| {
            let handle = b.reg(T::TY, false);
            let mods = Mods::new(&[Space::SharedCluster.get(), Mod::t(T::TY)]);
            b.push(Op::Ld, mods, vec![ir::Operand::Reg(handle.reg), address], None, place);
            Value::from_handle(handle)
        })
    }

    /// Stores the element.
    #[track_caller]
    pub fn store(self, value: impl Operand<T>) {
        let (place, address, value) = (Place::caller(), self.addr(), value.operand());
        let mods = Mods::new(&[Space::SharedCluster.get(), Mod::t(T::TY)]);
        with(|b| b.push(Op::St, mods, vec![address, value], None, place));
    }
}
