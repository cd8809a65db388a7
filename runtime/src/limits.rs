//! The shape of a launch, checked against the device and the compiled function before the driver sees it.

use crate::driver::info::DeviceInfo;
use crate::error::Error;
use crate::function::FunctionAttributes;

/// Blocks of a cluster that every device with clusters can place.
pub(crate) const PORTABLE_CLUSTER: u32 = 8;
/// Blocks of a cluster after opting in.
const LARGEST_CLUSTER: u32 = 16;

/// What is fixed for every launch of a kernel; only the grid varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y and z; `None` for what the text says, or none.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a block in bytes, beside what the text declares.
    pub shared_bytes: u32,
    /// Whether the kernel may start while its predecessor on the stream still runs (programmatic dependent launch). The
    /// text then has to wait with `griddepcontrol.wait` before it touches what the predecessor writes.
    pub programmatic: bool,
}

impl LaunchConfig {
    /// Blocks of `threads` × 1 × 1, nothing else.
    pub const fn block_x(threads: u32) -> LaunchConfig {
        LaunchConfig { block: [threads, 1, 1], cluster: None, shared_bytes: 0, programmatic: false }
    }

    /// Checks everything but the grid.
    pub(crate) fn check(
        &self,
        kernel: &str,
        device: &DeviceInfo,
        function: &FunctionAttributes,
    ) -> Result<(), Error> {
        let within = |what, value: u64, limit: u32| match value <= u64::from(limit) {
            true => Ok(()),
            false => Err(Error::Limit { kernel: kernel.to_owned(), what, value, limit: limit.into() }),
        };
        let unsupported = |what| Error::Unsupported {
            kernel: kernel.to_owned(),
            what,
            needs: "sm_90 or newer",
            device: device.sm(),
        };
        let wrong = |what, value, rule| Error::Geometry { kernel: kernel.to_owned(), what, value, rule };

        if self.block.contains(&0) {
            return Err(wrong("the block", self.block, "at least 1 in each dimension".to_owned()));
        }
        let axes = ["the block's x", "the block's y", "the block's z"];
        for ((what, value), limit) in axes.into_iter().zip(self.block).zip(device.max_block) {
            within(what, value.into(), limit)?;
        }
        let threads = volume(self.block);
        within("threads of a block", threads, device.max_threads_per_block)?;
        within("threads of a block of this function", threads, function.max_threads)?;

        let shared = u64::from(function.static_shared) + u64::from(self.shared_bytes);
        within("shared memory of a block in bytes", shared, device.shared_per_block_optin)?;

        if let Some(cluster) = self.cluster {
            if !device.clusters {
                return Err(unsupported("a cluster"));
            }
            if cluster.contains(&0) {
                return Err(wrong("the cluster", cluster, "at least 1 in each dimension".to_owned()));
            }
            within("blocks of a cluster", volume(cluster), LARGEST_CLUSTER)?;
            if let Some(required) = function.required_cluster
                && cluster != required
            {
                return Err(wrong("the cluster", cluster, format!("{required:?} as the text requires")));
            }
        }
        if self.programmatic && !device.programmatic_launch() {
            return Err(unsupported("programmatic dependent launch"));
        }
        Ok(())
    }
}

/// Checks a grid that has blocks: within the device's limits and a whole number of clusters.
pub(crate) fn check_grid(
    kernel: &str,
    grid: [u32; 3],
    max: [u32; 3],
    cluster: Option<[u32; 3]>,
) -> Result<(), Error> {
    let axes = ["the grid's x in blocks", "the grid's y in blocks", "the grid's z in blocks"];
    for ((what, value), limit) in axes.into_iter().zip(grid).zip(max) {
        if value > limit {
            return Err(Error::Limit {
                kernel: kernel.to_owned(),
                what,
                value: value.into(),
                limit: limit.into(),
            });
        }
    }
    if let Some(cluster) = cluster
        && grid.into_iter().zip(cluster).any(|(blocks, cluster)| blocks % cluster != 0)
    {
        let rule = format!("a multiple of the cluster {cluster:?}");
        return Err(Error::Geometry { kernel: kernel.to_owned(), what: "the grid", value: grid, rule });
    }
    Ok(())
}

/// Product of the dimensions, at most 2^96; saturates.
pub(crate) fn volume(shape: [u32; 3]) -> u64 {
    shape.into_iter().fold(1u64, |product, n| product.saturating_mul(n.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::info::tests::h200;

    fn function() -> FunctionAttributes {
        FunctionAttributes {
            registers: 32,
            static_shared: 1024,
            constant: 0,
            local: 0,
            max_threads: 512,
            ptx_version: 80,
            binary_version: 90,
            required_cluster: None,
        }
    }

    fn limit(config: LaunchConfig) -> Option<(&'static str, u64, u64)> {
        match config.check("k", &h200(), &function()) {
            Err(Error::Limit { what, value, limit, .. }) => Some((what, value, limit)),
            _ => None,
        }
    }

    #[test]
    fn what_fits_passes() {
        let config = LaunchConfig {
            block: [512, 1, 1],
            cluster: Some([16, 1, 1]),
            shared_bytes: 232_448 - 1024,
            programmatic: true,
        };
        assert!(config.check("k", &h200(), &function()).is_ok());
    }

    #[test]
    fn one_more_than_the_limit_fails_with_both() {
        let base = LaunchConfig::block_x(1);
        assert_eq!(
            limit(LaunchConfig::block_x(513)),
            Some(("threads of a block of this function", 513, 512))
        );
        assert_eq!(
            limit(LaunchConfig { block: [512, 3, 1], ..base }),
            Some(("threads of a block", 1536, 1024))
        );
        assert_eq!(limit(LaunchConfig { block: [1, 1, 65], ..base }), Some(("the block's z", 65, 64)));
        assert_eq!(
            limit(LaunchConfig { shared_bytes: 232_448 - 1023, ..base }),
            Some(("shared memory of a block in bytes", 232_449, 232_448))
        );
        assert_eq!(
            limit(LaunchConfig { cluster: Some([17, 1, 1]), ..base }),
            Some(("blocks of a cluster", 17, 16))
        );
    }

    #[test]
    fn impossible_shapes_and_absent_features_are_named() {
        let old = DeviceInfo { compute_capability: (8, 0), clusters: false, ..h200() };
        let base = LaunchConfig::block_x(32);
        let cluster = LaunchConfig { cluster: Some([2, 1, 1]), ..base };
        assert!(matches!(
            cluster.check("k", &old, &function()),
            Err(Error::Unsupported { what: "a cluster", .. })
        ));
        let early = LaunchConfig { programmatic: true, ..base };
        assert!(matches!(early.check("k", &old, &function()), Err(Error::Unsupported { .. })));
        let empty = LaunchConfig { block: [32, 0, 1], ..base };
        assert!(matches!(
            empty.check("k", &h200(), &function()),
            Err(Error::Geometry { what: "the block", .. })
        ));
        let fixed = FunctionAttributes { required_cluster: Some([4, 1, 1]), ..function() };
        assert!(matches!(
            cluster.check("k", &h200(), &fixed),
            Err(Error::Geometry { what: "the cluster", .. })
        ));
        let same = LaunchConfig { cluster: Some([4, 1, 1]), ..base };
        assert!(same.check("k", &h200(), &fixed).is_ok());
    }

    #[test]
    fn grids_respect_the_device_and_the_cluster() {
        let max = h200().max_grid;
        assert!(check_grid("k", [2_147_483_647, 1, 1], max, None).is_ok());
        assert!(matches!(
            check_grid("k", [2_147_483_648, 1, 1], max, None),
            Err(Error::Limit { value: 2_147_483_648, limit: 2_147_483_647, .. })
        ));
        assert!(matches!(check_grid("k", [1, 65536, 1], max, None), Err(Error::Limit { limit: 65535, .. })));
        assert!(check_grid("k", [8, 1, 1], max, Some([4, 1, 1])).is_ok());
        assert!(matches!(check_grid("k", [6, 1, 1], max, Some([4, 1, 1])), Err(Error::Geometry { .. })));
    }
}
