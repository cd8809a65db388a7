//! Warming up: the kernels that a program is going to launch, compiled before it does.
//!
//! A [`LaunchPlan`] takes the same kernel values that are launched later, so that what is warmed up and what is launched
//! cannot drift apart: after [`Device::seal`] a value that the plan lacked is an error, not a compilation.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptxsmith_builder::kernel::{AnyKernel, Kernel};

use crate::device::Device;
use crate::error::Error;
use crate::prepared::PreparedAny;

/// Kernels to be prepared together.
#[derive(Default)]
pub struct LaunchPlan {
    items: Vec<Item>,
}

struct Item {
    kernel: Arc<dyn AnyKernel>,
    prepare: Box<Prepare>,
}

type Prepare = dyn Fn(&Device) -> Result<PreparedAny, Error> + Send + Sync;

/// How far a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Kernels that are through, this one included.
    pub done: usize,
    /// Kernels of the plan.
    pub total: usize,
    /// Name of the kernel that is through.
    pub kernel: &'a str,
}

/// Kernels of a plan that cannot be prepared; the others are.
#[derive(Debug, Clone)]
pub struct PlanErrors {
    /// Place in the plan and error, in the order of the plan.
    pub errors: Vec<(usize, Error)>,
    /// Kernels of the plan.
    pub total: usize,
}

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} kernels cannot be prepared", self.errors.len(), self.total)?;
        self.errors.iter().try_for_each(|(_, error)| write!(f, "\n{error}"))
    }
}

impl std::error::Error for PlanErrors {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.errors.first().map(|(_, error)| error as _)
    }
}

impl LaunchPlan {
    /// No kernels.
    pub fn new() -> LaunchPlan {
        LaunchPlan::default()
    }

    /// Adds a kernel value; one that is there already costs nothing.
    pub fn add<K: Kernel>(&mut self, kernel: K) -> &mut LaunchPlan {
        let kernel = Arc::new(kernel);
        let typed = Arc::clone(&kernel);
        let prepare = Box::new(move |device: &Device| device.prepare(&*typed).map(|it| it.any().clone()));
        self.items.push(Item { kernel, prepare });
        self
    }

    /// Adds a kernel value whose type is not known. A later launch of it builds its text once more to find it.
    pub fn add_any(&mut self, kernel: Box<dyn AnyKernel>) -> &mut LaunchPlan {
        let kernel: Arc<dyn AnyKernel> = Arc::from(kernel);
        let any = Arc::clone(&kernel);
        let prepare = Box::new(move |device: &Device| device.prepare_any(&*any));
        self.items.push(Item { kernel, prepare });
        self
    }

    /// The kernel values, in order.
    pub fn kernels(&self) -> impl ExactSizeIterator<Item = &dyn AnyKernel> {
        self.items.iter().map(|item| &*item.kernel)
    }

    /// Number of kernel values.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Prepares every kernel on one thread per core; `progress` is called after each, from whichever thread was at work.
    /// The prepared kernels come in the order of the plan.
    ///
    /// # Errors
    /// All kernels that cannot be prepared.
    pub fn prepare(
        &self,
        device: &Device,
        progress: impl Fn(Progress<'_>) + Sync,
    ) -> Result<Vec<PreparedAny>, PlanErrors> {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.prepare_with(device, cores, progress)
    }

    /// [`LaunchPlan::prepare`] on a number of threads; 0 counts as 1.
    ///
    /// # Errors
    /// As [`LaunchPlan::prepare`].
    pub fn prepare_with(
        &self,
        device: &Device,
        threads: usize,
        progress: impl Fn(Progress<'_>) + Sync,
    ) -> Result<Vec<PreparedAny>, PlanErrors> {
        let total = self.items.len();
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let results = Mutex::new(Vec::with_capacity(total));
        let work = || {
            while let Some((index, item)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                self.items.get(index).map(|item| (index, item))
            } {
                let result = (item.prepare)(device);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                progress(Progress { done, total, kernel: item.kernel.name() });
            }
        };
        match threads.min(total) {
            0 | 1 => work(),
            threads => std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work)))),
        }
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(index, _)| *index);
        let (mut prepared, mut errors) = (Vec::with_capacity(total), Vec::new());
        for (index, result) in results {
            match result {
                Ok(kernel) => prepared.push(kernel),
                Err(error) => errors.push((index, error)),
            }
        }
        if errors.is_empty() { Ok(prepared) } else { Err(PlanErrors { errors, total }) }
    }
}

impl fmt::Debug for LaunchPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items.iter().map(|item| item.kernel.name())).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulated::EmulatorOptions;
    use crate::scale::Scale;
    use ptxsmith_builder::target::Target;
    use ptxsmith_builder::types::Dtype;

    fn device() -> Device {
        Device::emulated(Target::sm(90).expect("a known target"), EmulatorOptions::default())
    }

    fn kernel(columns: u32) -> Scale {
        Scale::new(columns, 2.0, Dtype::F32, Dtype::F32)
    }

    fn plan(columns: impl IntoIterator<Item = u32>) -> LaunchPlan {
        let mut plan = LaunchPlan::new();
        for columns in columns {
            plan.add(kernel(columns));
        }
        plan
    }

    #[test]
    fn a_plan_prepares_each_kernel_once_in_its_order() {
        let device = device();
        let calls = Mutex::new(Vec::new());
        // Twice the same values.
        let plan = plan((1..=30).chain(1..=30));
        let progress = |at: Progress<'_>| calls.lock().expect("no panic").push((at.done, at.total));
        let prepared = plan.prepare_with(&device, 4, progress).expect("valid kernels");
        let blocks: Vec<u32> = prepared.iter().map(|it| it.operation().steps[0].geometry.block[0]).collect();
        assert_eq!(blocks, (1..=30).chain(1..=30).collect::<Vec<_>>());
        assert_eq!(device.cache_stats().misses, 30);
        let mut calls = calls.into_inner().expect("no panic");
        calls.sort_unstable();
        assert_eq!(calls, (1..=60).map(|done| (done, 60)).collect::<Vec<_>>());
    }

    #[test]
    fn after_a_plan_and_a_seal_only_what_the_plan_had_can_be_prepared() {
        let device = device();
        let mut plan = plan([32, 64]);
        plan.add_any(Box::new(kernel(96)));
        plan.prepare(&device, |_| {}).expect("valid kernels");
        device.seal();
        for columns in [32, 64, 96] {
            assert!(device.prepare(&kernel(columns)).is_ok(), "{columns}");
        }
        assert!(matches!(device.prepare(&kernel(128)), Err(Error::Sealed { .. })));
    }

    #[test]
    fn all_failures_are_reported_and_the_rest_is_prepared() {
        let device = device();
        let errors = plan([32, 1025, 64, 2000]).prepare(&device, |_| {}).expect_err("two are too large");
        assert_eq!(errors.errors.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 3]);
        assert!(errors.to_string().starts_with("2 of 4 kernels cannot be prepared\n"), "{errors}");
        device.seal();
        assert!(device.prepare(&kernel(64)).is_ok());
    }

    #[test]
    fn an_empty_plan_is_ready() {
        let plan = LaunchPlan::new();
        assert!(plan.is_empty() && plan.prepare(&device(), |_| {}).expect("nothing fails").is_empty());
    }
}
