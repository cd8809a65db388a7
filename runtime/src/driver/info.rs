//! What a CUDA device is and what it allows, read without creating a context.

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdevice_attribute_enum as Attribute};

use ptxsmith_builder::target::{PtxVersion, Target, Variant};

use super::version::CudaVersion;
use crate::error::Error;

/// Name, architecture and limits of one device. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// CUDA ordinal.
    pub ordinal: usize,
    /// Marketing name.
    pub name: String,
    /// Identity that stays the same across processes and ordinals.
    pub uuid: [u8; 16],
    /// Compute capability as (major, minor).
    pub compute_capability: (u32, u32),
    /// Size of the device memory.
    pub total_memory: u64,
    /// Number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// Threads of a warp.
    pub warp_size: u32,
    /// Most threads of one block.
    pub max_threads_per_block: u32,
    /// Most threads of one multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// Largest block in x, y and z.
    pub max_block: [u32; 3],
    /// Largest grid in x, y and z, in blocks.
    pub max_grid: [u32; 3],
    /// 32-bit registers of one block.
    pub registers_per_block: u32,
    /// Shared memory of one block without opting in.
    pub shared_per_block: u32,
    /// Shared memory of one block after opting in.
    pub shared_per_block_optin: u32,
    /// Shared memory of one multiprocessor.
    pub shared_per_multiprocessor: u32,
    /// L2 cache.
    pub l2_bytes: u32,
    /// Whether thread block clusters can be launched.
    pub clusters: bool,
    /// CUDA release of the driver.
    pub driver: CudaVersion,
    /// Which build of the driver it is, as the system tells; empty where it does not.
    pub driver_build: String,
}

impl DeviceInfo {
    /// Reads a device. The driver is present and initialized.
    ///
    /// # Safety
    /// `device` comes from the driver.
    pub(crate) unsafe fn read(
        device: sys::CUdevice,
        ordinal: usize,
        driver: CudaVersion,
    ) -> Result<DeviceInfo, Error> {
        let read = |attribute: Attribute| -> Result<u32, Error> {
            // SAFETY: `device` comes from the driver, by this function's contract.
            let value = unsafe { result::device::get_attribute(device, attribute) }
                .map_err(|e| Error::driver("cuDeviceGetAttribute", e))?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        // SAFETY: `device` comes from the driver, by this function's contract.
        let total_memory = unsafe { result::device::total_mem(device) }
            .map_err(|e| Error::driver("cuDeviceTotalMem", e))? as u64;
        let uuid = result::device::get_uuid(device).map_err(|e| Error::driver("cuDeviceGetUuid", e))?;
        let capability = (
            read(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            read(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        Ok(DeviceInfo {
            ordinal,
            name: result::device::get_name(device).map_err(|e| Error::driver("cuDeviceGetName", e))?,
            uuid: uuid.bytes.map(|byte| byte.cast_unsigned()),
            compute_capability: capability,
            total_memory,
            multiprocessors: read(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            warp_size: read(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            max_threads_per_block: read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            max_threads_per_multiprocessor: read(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            )?,
            max_block: [
                read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            max_grid: [
                read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            registers_per_block: read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)?,
            shared_per_block: read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
            shared_per_block_optin: read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_per_multiprocessor: read(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            )?,
            l2_bytes: read(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            // Drivers older than the attribute refuse it, and none of them can launch a cluster.
            clusters: capability.0 >= 9
                && read(Attribute::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH).unwrap_or(0) > 0,
            driver,
            driver_build: driver_build(),
        })
    }

    /// The architecture number, for example 90 for compute capability 9.0.
    pub fn sm_number(&self) -> u16 {
        let (major, minor) = self.compute_capability;
        u16::try_from(major * 10 + minor).unwrap_or(u16::MAX)
    }

    /// The architecture as messages name it, for example `sm_90`; also for one that the target table lacks.
    pub fn sm(&self) -> String {
        format!("sm_{}", self.sm_number())
    }

    /// Every target of the table whose text this device runs and this driver takes, oldest first.
    pub fn targets(&self) -> Vec<Target> {
        let max_ptx = self.max_ptx();
        let runs = |target: &Target| target.runs_on(self.sm_number()) && target.min_ptx() <= max_ptx;
        Target::all().into_iter().filter(runs).collect()
    }

    /// The newest plain target of [`DeviceInfo::targets`], whose text later devices run too.
    pub fn plain_target(&self) -> Option<Target> {
        self.targets().into_iter().rfind(|target| target.variant() == Variant::Plain)
    }

    /// The target with the most features: the `a` variant of this architecture if it has one, else the plain one.
    pub fn best_target(&self) -> Option<Target> {
        self.targets().pop()
    }

    /// The highest PTX version that the driver takes.
    pub fn max_ptx(&self) -> PtxVersion {
        self.driver.max_ptx()
    }

    /// Whether a kernel may start while its predecessor on the stream still runs (compute capability 9.0 and newer).
    pub fn programmatic_launch(&self) -> bool {
        self.compute_capability.0 >= 9
    }
}

/// The first line that Linux shows of the driver, which names its version and build.
fn driver_build() -> String {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The limits of an H200 under a driver of CUDA 13.0.
    pub(crate) fn h200() -> DeviceInfo {
        DeviceInfo {
            ordinal: 0,
            name: "NVIDIA H200".to_owned(),
            uuid: [0; 16],
            compute_capability: (9, 0),
            total_memory: 150_000_000_000,
            multiprocessors: 132,
            warp_size: 32,
            max_threads_per_block: 1024,
            max_threads_per_multiprocessor: 2048,
            max_block: [1024, 1024, 64],
            max_grid: [2_147_483_647, 65535, 65535],
            registers_per_block: 65536,
            shared_per_block: 49152,
            shared_per_block_optin: 232_448,
            shared_per_multiprocessor: 233_472,
            l2_bytes: 62_914_560,
            clusters: true,
            driver: CudaVersion::new(13, 0),
            driver_build: String::new(),
        }
    }

    fn named(targets: impl IntoIterator<Item = Target>) -> Vec<String> {
        targets.into_iter().map(|target| target.to_string()).collect()
    }

    #[test]
    fn targets_are_those_that_device_and_driver_take() {
        let at = |capability, driver| DeviceInfo { compute_capability: capability, driver, ..h200() };
        let new = CudaVersion::new(13, 0);
        assert_eq!(named(at((8, 6), new).targets()), ["sm_75", "sm_80", "sm_86"]);
        let hopper = at((9, 0), new);
        assert_eq!(named(hopper.plain_target()), ["sm_90"]);
        assert_eq!(named(hopper.best_target()), ["sm_90a"]);
        // CUDA 11.8 knows the architecture and not its variant.
        assert_eq!(named(at((9, 0), CudaVersion::new(11, 8)).best_target()), ["sm_90"]);
        assert_eq!(named(at((12, 1), new).best_target()), ["sm_121a"]);
        // An architecture that the table lacks runs the newest plain target before it.
        assert_eq!(named(at((9, 9), new).best_target()), ["sm_90"]);
        assert_eq!(at((7, 0), new).best_target(), None);
    }
}
