//! An entry of a loaded module: what the compiler made of it, and the shared memory it may use.
//!
//! A function keeps its module loaded. Cloning one is a reference count.

use std::ffi::{CString, c_int};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUfunction, CUfunction_attribute_enum as Attribute, CUresult};

use crate::driver::info::DeviceInfo;
use crate::driver::{bind, require};
use crate::error::Error;
use crate::module::LoadedModule;

/// An entry that can be launched.
#[derive(Clone)]
pub struct Function {
    inner: Arc<Inner>,
}

struct Inner {
    raw: CUfunction,
    module: Arc<LoadedModule>,
    entry: String,
    attributes: FunctionAttributes,
    parameters: Option<Vec<Parameter>>,
    /// What the driver was told about dynamic shared memory; only raised, since launches of other shapes share it.
    dynamic_shared: Mutex<u32>,
}

// SAFETY: a function handle is an opaque value that the driver lets every thread use; the module that owns it is kept
// alive by `module`, and the driver's own state of it is changed under the mutex or idempotently.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// What the compiler made of a function. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Shared memory of a block that the text declares.
    pub static_shared: u32,
    /// Constant memory.
    pub constant: u32,
    /// Local memory of a thread: spills and stack.
    pub local: u32,
    /// Most threads of a block, by registers and `.maxntid`.
    pub max_threads: u32,
    /// 10 × major + minor of the virtual architecture it was compiled from, not of the text's `.version`.
    pub ptx_version: u32,
    /// 10 × major + minor of the architecture it was compiled for.
    pub binary_version: u32,
    /// Cluster that the text requires.
    pub required_cluster: Option<[u32; 3]>,
}

/// Place of a parameter in the function's parameter space, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Offset from the start.
    pub offset: usize,
    /// Size.
    pub size: usize,
}

impl Function {
    /// Looks an entry up and makes sure that its code is on the device, so that the first launch loads nothing.
    pub(crate) fn find(module: &Arc<LoadedModule>, entry: &str) -> Result<Function, Error> {
        let unknown = || Error::UnknownEntry {
            kernel: module.kernel().to_owned(),
            entry: entry.to_owned(),
            available: module.entries(),
        };
        bind(module.context())?;
        let name = CString::new(entry).map_err(|_| unknown())?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a valid place, the module is loaded, `name` ends with NUL.
        let code = unsafe { sys::cuModuleGetFunction(&raw mut raw, module.raw(), name.as_ptr()) };
        if code == CUresult::CUDA_ERROR_NOT_FOUND {
            return Err(unknown());
        }
        code.result().map_err(|e| Error::driver("cuModuleGetFunction", e))?;
        if require("cuFuncLoad").is_ok() {
            // SAFETY: the handle was just given out by the driver; the symbol was looked for.
            let code = unsafe { sys::cuFuncLoad(raw) };
            code.result().map_err(|e| Error::driver("cuFuncLoad", e))?;
        }
        // SAFETY: the handle was just given out by the driver and its module is loaded.
        let (attributes, parameters) = unsafe { (attributes(raw, module.device())?, parameters(raw)) };
        Ok(Function {
            inner: Arc::new(Inner {
                raw,
                module: Arc::clone(module),
                entry: entry.to_owned(),
                attributes,
                parameters,
                dynamic_shared: Mutex::new(0),
            }),
        })
    }

    /// Name of the entry.
    pub fn entry(&self) -> &str {
        &self.inner.entry
    }

    /// The module it belongs to.
    pub fn module(&self) -> &Arc<LoadedModule> {
        &self.inner.module
    }

    /// What the compiler made of it.
    pub fn attributes(&self) -> &FunctionAttributes {
        &self.inner.attributes
    }

    /// Its parameters in order; `None` if the driver is too old to tell (before CUDA 12.4).
    pub fn parameters(&self) -> Option<&[Parameter]> {
        self.inner.parameters.as_deref()
    }

    /// The driver's handle. It is good while `self` or a clone of it lives.
    pub fn raw(&self) -> CUfunction {
        self.inner.raw
    }

    /// Allows launches with `bytes` of dynamic shared memory; never takes back what was allowed before.
    ///
    /// # Errors
    /// [`Error::Limit`] if it and the declared shared memory together exceed what a block may opt in to.
    pub fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), Error> {
        let device = self.inner.module.device();
        let total = u64::from(self.inner.attributes.static_shared) + u64::from(bytes);
        if total > u64::from(device.shared_per_block_optin) {
            return Err(Error::Limit {
                kernel: self.inner.module.kernel().to_owned(),
                what: "shared memory of a block in bytes",
                value: total,
                limit: device.shared_per_block_optin.into(),
            });
        }
        let mut allowed = self.inner.dynamic_shared.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > *allowed && total > u64::from(device.shared_per_block) {
            self.set(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)?;
            *allowed = bytes;
        }
        Ok(())
    }

    /// Allows clusters of more blocks than every device can place.
    pub(crate) fn allow_large_clusters(&self) -> Result<(), Error> {
        self.set(Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
    }

    fn set(&self, attribute: Attribute, value: u32) -> Result<(), Error> {
        bind(self.inner.module.context())?;
        // SAFETY: the handle is good while `self` lives; the value is a plain number that the driver checks.
        let code = unsafe { sys::cuFuncSetAttribute(self.inner.raw, attribute, value.cast_signed()) };
        code.result().map_err(|e| Error::driver("cuFuncSetAttribute", e))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("kernel", &self.inner.module.kernel())
            .field("entry", &self.inner.entry)
            .field("attributes", &self.inner.attributes)
            .finish_non_exhaustive()
    }
}

/// Reads the attributes of a function.
///
/// # Safety
/// The module of `raw` is loaded, and its context current.
unsafe fn attributes(raw: CUfunction, device: &DeviceInfo) -> Result<FunctionAttributes, Error> {
    let read = |attribute: Attribute| -> Result<u32, Error> {
        let mut value: c_int = 0;
        // SAFETY: `value` is a valid place; the handle is good by this function's contract.
        let code = unsafe { sys::cuFuncGetAttribute(&raw mut value, attribute, raw) };
        code.result().map_err(|e| Error::driver("cuFuncGetAttribute", e))?;
        Ok(u32::try_from(value).unwrap_or(0))
    };
    let required_cluster = if device.clusters {
        let cluster = [
            read(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)?,
            read(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT)?,
            read(Attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH)?,
        ];
        (!cluster.contains(&0)).then_some(cluster)
    } else {
        None
    };
    Ok(FunctionAttributes {
        registers: read(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
        static_shared: read(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        constant: read(Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
        local: read(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        max_threads: read(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        ptx_version: read(Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
        binary_version: read(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
        required_cluster,
    })
}

/// Reads the parameters of a function; `None` if the driver cannot tell.
///
/// # Safety
/// The module of `raw` is loaded, and its context current.
unsafe fn parameters(raw: CUfunction) -> Option<Vec<Parameter>> {
    require("cuFuncGetParamInfo").ok()?;
    let mut parameters = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: both places are valid; the handle is good by this function's contract; the symbol was looked for.
        let code = unsafe { sys::cuFuncGetParamInfo(raw, parameters.len(), &raw mut offset, &raw mut size) };
        match code {
            CUresult::CUDA_SUCCESS => parameters.push(Parameter { offset, size }),
            // The documented answer to an index past the last parameter.
            CUresult::CUDA_ERROR_INVALID_VALUE => return Some(parameters),
            _ => return None,
        }
    }
}
