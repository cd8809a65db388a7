//! The launch: everything that can be checked once is checked once, the rest costs nanoseconds.
//!
//! [`Launch::prepare`] checks block, cluster and shared memory and tells the driver what it must allow.
//! [`Launch::enqueue`] checks the grid, the stream's context and the sizes of the arguments, and neither allocates nor
//! locks nor compiles.

use std::ffi::{c_char, c_void};

use cudarc::driver::sys::{self, CUlaunchAttribute, CUlaunchAttributeID_enum as AttributeId, CUlaunchConfig};
use cudarc::driver::{CudaStream, DriverError};

use crate::arguments::Arguments;
use crate::driver::bind;
use crate::error::Error;
use crate::function::Function;
use crate::limits::{LaunchConfig, PORTABLE_CLUSTER, check_grid, volume};

/// A function with a checked configuration, ready to be put on streams from any thread.
#[derive(Debug, Clone)]
pub struct Launch {
    function: Function,
    config: LaunchConfig,
    /// What the grid has to be a multiple of.
    cluster: Option<[u32; 3]>,
    max_grid: [u32; 3],
}

const EMPTY: CUlaunchAttribute = CUlaunchAttribute {
    id: AttributeId::CU_LAUNCH_ATTRIBUTE_IGNORE,
    pad: [0; 4],
    value: sys::CUlaunchAttributeValue { pad: [0 as c_char; 64] },
};

impl Launch {
    /// Checks a configuration against device and function, and allows the shared memory and cluster that it needs.
    ///
    /// # Errors
    /// [`Error::Limit`], [`Error::Geometry`] or [`Error::Unsupported`] for what does not fit, driver errors otherwise.
    pub fn prepare(function: &Function, config: LaunchConfig) -> Result<Launch, Error> {
        let module = function.module();
        config.check(module.kernel(), module.device(), function.attributes())?;
        function.allow_dynamic_shared(config.shared_bytes)?;
        let cluster = config.cluster.or(function.attributes().required_cluster);
        if cluster.is_some_and(|cluster| volume(cluster) > u64::from(PORTABLE_CLUSTER)) {
            function.allow_large_clusters()?;
        }
        Ok(Launch { function: function.clone(), config, cluster, max_grid: module.device().max_grid })
    }

    /// The function.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The configuration.
    pub fn config(&self) -> &LaunchConfig {
        &self.config
    }

    /// Puts the kernel on a stream and returns at once. A grid without blocks is a no-op.
    ///
    /// # Errors
    /// [`Error::Limit`] or [`Error::Geometry`] for a grid that does not fit, [`Error::WrongContext`] for a foreign
    /// stream, [`Error::ArgumentCount`] or [`Error::ArgumentSize`] for arguments that the entry does not take (where the
    /// driver can tell), [`Error::Sticky`] if an earlier kernel failed.
    ///
    /// # Safety
    /// The arguments mean what the entry takes them for: for this grid, every address that it computes from them lies in
    /// device memory of the stream's context, stays allocated until the kernel has run, and is neither written by others
    /// nor, where the kernel writes, read by others in the meantime.
    pub unsafe fn enqueue(
        &self,
        stream: &CudaStream,
        grid: [u32; 3],
        arguments: &Arguments,
    ) -> Result<(), Error> {
        self.check_arguments(arguments)?;
        let mut addresses = arguments.addresses();
        // SAFETY: number and sizes were compared with what the entry takes, as far as the driver tells them; the rest is
        // this function's contract.
        unsafe { self.enqueue_places(stream, grid, &mut addresses) }
    }

    /// A grid of `blocks` × 1 × 1.
    pub(crate) fn grid_x(&self, blocks: u64) -> Result<[u32; 3], Error> {
        let limit = self.max_grid[0];
        match u32::try_from(blocks) {
            Ok(blocks) if blocks <= limit => Ok([blocks, 1, 1]),
            _ => Err(Error::Limit {
                kernel: self.function.module().kernel().to_owned(),
                what: "the grid's x in blocks",
                value: blocks,
                limit: limit.into(),
            }),
        }
    }

    /// [`Launch::enqueue`] with the address of each parameter's value.
    ///
    /// # Safety
    /// As [`Launch::enqueue`]; besides, `addresses` has one for each parameter of the entry, and as many bytes as the
    /// parameter has can be read there.
    pub(crate) unsafe fn enqueue_places(
        &self,
        stream: &CudaStream,
        grid: [u32; 3],
        addresses: &mut [*mut c_void],
    ) -> Result<(), Error> {
        let module = self.function.module();
        check_grid(module.kernel(), grid, self.max_grid, self.cluster)?;
        if stream.context().cu_ctx() != module.context().cu_ctx() {
            return Err(Error::WrongContext { what: "the stream", owner: module.kernel().to_owned() });
        }
        if grid.contains(&0) {
            return Ok(());
        }
        bind(module.context())?;

        let mut attributes = [EMPTY; 2];
        let mut count = 0;
        if let Some([x, y, z]) = self.config.cluster {
            attributes[count].id = AttributeId::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            attributes[count].value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            count += 1;
        }
        if self.config.programmatic {
            attributes[count].id = AttributeId::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[count].value.programmaticStreamSerializationAllowed = 1;
            count += 1;
        }
        let config = CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: self.config.block[0],
            blockDimY: self.config.block[1],
            blockDimZ: self.config.block[2],
            sharedMemBytes: self.config.shared_bytes,
            hStream: stream.cu_stream(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: count as u32,
        };
        // SAFETY: function and stream are alive and of the context that is current; `config` names `count` attributes;
        // `addresses` has an entry for each parameter, good for its size, by this function's contract; the driver copies
        // both before it returns. What the kernel does with the arguments is the caller's promise.
        let code = unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                self.function.raw(),
                addresses.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        match code {
            sys::CUresult::CUDA_SUCCESS => {
                module.note_launch(stream.cu_stream());
                Ok(())
            }
            code => Err(module.explain(Error::driver("cuLaunchKernelEx", DriverError(code)))),
        }
    }

    /// Compares number and sizes with what the entry takes, so that the driver does not read past an argument.
    fn check_arguments(&self, arguments: &Arguments) -> Result<(), Error> {
        let Some(parameters) = self.function.parameters() else { return Ok(()) };
        let kernel = || self.function.module().kernel().to_owned();
        if arguments.len() != parameters.len() {
            let (given, takes) = (arguments.len(), parameters.len());
            return Err(Error::ArgumentCount { kernel: kernel(), given, takes });
        }
        for (index, (given, parameter)) in arguments.sizes().zip(parameters).enumerate() {
            if given != parameter.size {
                return Err(Error::ArgumentSize { kernel: kernel(), index, given, takes: parameter.size });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadedModule;

    #[test]
    fn handles_can_be_used_from_every_thread() {
        fn shared<T: Send + Sync + 'static>() {}
        shared::<Launch>();
        shared::<Function>();
        shared::<LoadedModule>();
        shared::<crate::CudaDevice>();
        shared::<Error>();
    }
}
