//! The list of kernels. Every suite (snapshots, verifier, assembler, emulator against reference, GPU, benchmarks, docs) iterates
//! over it; a new kernel is one file and one line here.

use ptxsmith_builder::kernel::{AnyKernel, FieldInfo, Fields, Kernel, KernelError, nearest};

/// A named spec for suites and listings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Name, unique within the kernel; part of snapshot file names.
    pub name: &'static str,
    /// Fields, each acceptable to `--set`.
    pub fields: Vec<(&'static str, &'static str)>,
}

/// An argument as listings show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgDoc {
    /// Name.
    pub name: &'static str,
    /// Type in words: `dtype of x, [rows, hidden]`.
    pub ty: &'static str,
    /// `in`, `out` or `inout`.
    pub direction: &'static str,
}

/// A kernel of the library.
#[derive(Debug, Clone, Copy)]
pub struct KernelInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Fields of its spec and schedule.
    pub fields: fn() -> Vec<FieldInfo>,
    /// Arguments.
    pub args: &'static [ArgDoc],
    /// Sample specs.
    pub samples: fn() -> Vec<Sample>,
    from_fields: fn(&mut Fields) -> Result<Box<dyn AnyKernel>, KernelError>,
}

impl KernelInfo {
    /// The entry of kernel type `K`.
    pub const fn of<K: Kernel>(
        name: &'static str,
        summary: &'static str,
        args: &'static [ArgDoc],
        samples: fn() -> Vec<Sample>,
    ) -> KernelInfo {
        KernelInfo {
            name,
            summary,
            fields: K::field_infos,
            args,
            samples,
            from_fields: |fields| Ok(Box::new(K::from_fields(fields)?)),
        }
    }

    /// A kernel value from field texts; refuses fields that the kernel does not have.
    pub fn parse(
        &self,
        pairs: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Box<dyn AnyKernel>, KernelError> {
        let mut fields = Fields::new(pairs)?;
        let kernel = (self.from_fields)(&mut fields)?;
        fields.finish()?;
        Ok(kernel)
    }

    /// The kernel value of a sample.
    pub fn sample(&self, sample: &Sample) -> Result<Box<dyn AnyKernel>, KernelError> {
        self.parse(sample.fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    }
}

/// A name that no kernel has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKernel {
    /// The name.
    pub name: String,
}

impl std::fmt::Display for UnknownKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known: Vec<&str> = all().iter().map(|kernel| kernel.name).collect();
        write!(f, "unknown kernel `{}`; known are {}", self.name, known.join(", "))?;
        match nearest(&self.name, &known) {
            Some(near) => write!(f, " (did you mean `{near}`?)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnknownKernel {}

/// Every kernel of the library.
pub fn all() -> &'static [KernelInfo] {
    ALL
}

/// The kernel of a name.
pub fn find(name: &str) -> Result<&'static KernelInfo, UnknownKernel> {
    all().iter().find(|kernel| kernel.name == name).ok_or_else(|| UnknownKernel { name: name.to_owned() })
}

static ALL: &[KernelInfo] = &[crate::rms_norm::INFO];
