//! The key of a prepared kernel: the kernel value itself, its type, and the target.
//!
//! Looking one up borrows the value, so that it neither clones nor allocates. The context is not part of the key: each
//! device has a cache of its own.

use std::any::{Any, TypeId};
use std::borrow::Borrow;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use ptxsmith_builder::kernel::Kernel;
use ptxsmith_builder::target::Target;

/// A kernel value of any type with a target.
pub(crate) trait Key: Send + Sync {
    fn target(&self) -> Target;
    fn kernel(&self) -> &dyn Any;
    fn hash_kernel(&self, state: &mut dyn Hasher);
    fn same_kernel(&self, other: &dyn Any) -> bool;
}

/// A key for a lookup.
pub(crate) struct Lookup<'a, K> {
    pub(crate) kernel: &'a K,
    pub(crate) target: Target,
}

struct Owned<K> {
    kernel: K,
    target: Target,
}

/// A key that is kept.
#[derive(Clone)]
pub(crate) struct Stored(Arc<dyn Key>);

impl Stored {
    pub(crate) fn new<K: Kernel>(kernel: &K, target: Target) -> Stored {
        Stored(Arc::new(Owned { kernel: kernel.clone(), target }))
    }
}

macro_rules! key {
    ($($name:ty)*) => {$(
        impl<K: Kernel> Key for $name {
            fn target(&self) -> Target {
                self.target
            }
            fn kernel(&self) -> &dyn Any {
                let kernel: &K = self.kernel.borrow();
                kernel
            }
            fn hash_kernel(&self, mut state: &mut dyn Hasher) {
                TypeId::of::<K>().hash(&mut state);
                let kernel: &K = self.kernel.borrow();
                kernel.hash(&mut state);
            }
            fn same_kernel(&self, other: &dyn Any) -> bool {
                let kernel: &K = self.kernel.borrow();
                other.downcast_ref::<K>() == Some(kernel)
            }
        }
    )*};
}

key!(Owned<K> Lookup<'_, K>);

impl Hash for dyn Key + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.target().hash(state);
        self.hash_kernel(state);
    }
}

impl PartialEq for dyn Key + '_ {
    fn eq(&self, other: &(dyn Key + '_)) -> bool {
        self.target() == other.target() && self.same_kernel(other.kernel())
    }
}

impl Eq for dyn Key + '_ {}

impl Hash for Stored {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Stored {
    fn eq(&self, other: &Stored) -> bool {
        *self.0 == *other.0
    }
}

impl Eq for Stored {}

impl<'a> Borrow<dyn Key + 'a> for Stored {
    fn borrow(&self) -> &(dyn Key + 'a) {
        &*self.0
    }
}

/// A hash of few instructions. The keys are the program's own, so that nobody can provoke collisions with them.
#[derive(Default)]
pub(crate) struct QuickHasher(u64);

/// Makes [`QuickHasher`]s.
pub(crate) type QuickState = BuildHasherDefault<QuickHasher>;

impl QuickHasher {
    fn add(&mut self, word: u64) {
        // An odd multiplier close to 2^64 divided by the golden ratio spreads each bit over all higher ones.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
        self.add(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.add(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.add(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;
    use ptxsmith_builder::types::Dtype;
    use std::collections::HashMap;

    #[test]
    fn lookups_find_what_was_stored_and_nothing_else() {
        let target = |number| Target::sm(number).expect("a known target");
        let kernel = |columns, factor| Scale::new(columns, factor, Dtype::F32, Dtype::F32);
        let mut map: HashMap<Stored, u32, QuickState> = HashMap::default();
        for columns in 1..200 {
            map.insert(Stored::new(&kernel(columns, 1.0), target(90)), columns);
        }
        let find = |kernel: &Scale, target| map.get(&Lookup { kernel, target } as &dyn Key).copied();
        for columns in 1..200 {
            assert_eq!(find(&kernel(columns, 1.0), target(90)), Some(columns));
        }
        assert_eq!(find(&kernel(7, 1.0), target(80)), None);
        assert_eq!(find(&kernel(7, -1.0), target(90)), None);
        assert_eq!(find(&kernel(200, 1.0), target(90)), None);
        let strided = Scale { strided: true, ..kernel(7, 1.0) };
        assert_eq!(find(&strided, target(90)), None);
    }

    #[test]
    fn hashes_differ_in_the_bits_that_tables_use() {
        let hash = |value: u64| {
            let mut hasher = QuickHasher::default();
            value.hash(&mut hasher);
            hasher.finish()
        };
        let low: std::collections::HashSet<u64> = (0..1024).map(|value| hash(value) & 0xffff).collect();
        let high: std::collections::HashSet<u64> = (0..1024).map(|value| hash(value << 32) >> 48).collect();
        assert!(low.len() > 900 && high.len() > 900, "{} and {}", low.len(), high.len());
    }
}
