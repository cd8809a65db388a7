//! A kernel that is compiled, resolved and checked: launching it can no longer compile, allocate or lock.
//!
//! [`Prepared`] knows the kernel's type, so that its arguments and sizes are checked by rustc; [`PreparedAny`] takes
//! them by name. Both are `Send + Sync` and cheap to clone.
//!
//! [`Prepared::launch`] is safe: cudarc's borrows say what is read and what is written, and the kernel's own description
//! of its arguments says how far. That description is trusted as the kernel's code is.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cudarc::driver::{CudaStream, SyncOnDrop};
use ptxsmith_builder::kernel::{AnyKernel, ArgValue, Args, Kernel, Operation, Shape};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Dtype;

use crate::argument::{Borrowed, BufferArg};
use crate::argument_error::ArgumentError;
use crate::arguments::MAX_ARGUMENTS;
use crate::cache::Code;
use crate::device::{Backend, Core};
use crate::emulated::{self, Outcome};
use crate::error::Error;
use crate::launch::Launch;
use crate::limits::LaunchConfig;
use crate::lines::place_in_log;
use crate::module::LoadedModule;
use crate::signature::{Call, Signature};

/// The value of an argument given by name.
pub type Arg<'a> = ArgValue<BufferArg<'a>>;

/// A kernel of unknown type, ready to be launched on its device.
#[derive(Clone)]
pub struct PreparedAny {
    inner: Arc<Inner>,
}

/// A kernel of type `K`, ready to be launched on its device.
pub struct Prepared<K> {
    any: PreparedAny,
    kernel: PhantomData<fn() -> K>,
}

struct Inner {
    /// The kernel with its spec, for messages.
    label: String,
    operation: Operation,
    signature: Signature,
    core: Core,
    /// One for each step; empty in the emulator.
    launches: Box<[Launch]>,
}

impl PreparedAny {
    /// Puts a built kernel together with its code, which `code` finds or makes for a name and a text.
    pub(crate) fn new(
        core: &Core,
        kernel: &dyn AnyKernel,
        operation: Operation,
        code: impl FnOnce(&str, &str) -> Result<Code, Error>,
    ) -> Result<PreparedAny, Error> {
        let label = label(kernel, core.target);
        let signature = Signature::new(&operation)
            .map_err(|reason| Error::MalformedKernel { kernel: label.clone(), reason })?;
        let text = operation.text();
        let launches = match code(&label, &text) {
            Ok(Code::Cuda(module)) => launches(&module, &operation)?,
            Ok(Code::Emulated) => Box::default(),
            Err(Error::LoadFailed(mut failure)) => {
                failure.place = place_in_log(operation.module.module(), &text, &failure.error_log);
                return Err(Error::LoadFailed(failure));
            }
            Err(other) => return Err(other),
        };
        let inner = Inner { label, operation, signature, core: core.clone(), launches };
        Ok(PreparedAny { inner: Arc::new(inner) })
    }

    /// The kernel's name with its spec.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// What it was built from: the verified module, arguments, sizes and launches.
    pub fn operation(&self) -> &Operation {
        &self.inner.operation
    }

    /// What the compiler made of each step: registers, spills, shared memory. Empty in the emulator.
    pub fn launches(&self) -> &[Launch] {
        &self.inner.launches
    }

    /// Launches it with arguments that were put together already.
    pub(crate) fn launch_values<'a>(
        &self,
        stream: &'a CudaStream,
        args: Vec<Arg<'a>>,
        sizes: impl IntoIterator<Item = u64>,
    ) -> Result<(), Error> {
        self.inner.launch(stream, |f| args.into_iter().for_each(f), |f| sizes.into_iter().for_each(f), |_| {})
    }

    /// Runs it with arguments and sizes by name, on the stream of its device or in the emulator, and waits for it.
    ///
    /// # Errors
    /// [`Error::Argument`] for anything that does not fit, [`Error::Limit`] for a grid beyond the device's, driver
    /// errors. What the emulator detects is no error: it is in the outcome.
    pub fn run_named<'a, 'n>(
        &'a self,
        args: impl IntoIterator<Item = (&'n str, Arg<'a>)>,
        sizes: &[(&str, u64)],
    ) -> Result<Outcome, Error> {
        let inner = &*self.inner;
        let wrong = |error| inner.argument(error);
        let mut values: Vec<Option<Arg<'a>>> = inner.operation.args.iter().map(|_| None).collect();
        for (name, value) in args {
            place(inner.signature.args(), name, value, &mut values).map_err(wrong)?;
        }
        let mut numbers: Vec<Option<u64>> = inner.operation.sizes.iter().map(|_| None).collect();
        for &(name, value) in sizes {
            place(inner.signature.sizes(), name, value, &mut numbers).map_err(wrong)?;
        }
        let values = complete(inner.signature.args(), values).map_err(wrong)?;
        let numbers = complete(inner.signature.sizes(), numbers).map_err(wrong)?;
        inner.run(numbers, values)
    }
}

impl<K: Kernel> Prepared<K> {
    pub(crate) fn new(any: PreparedAny) -> Prepared<K> {
        Prepared { any, kernel: PhantomData }
    }

    /// The same kernel without its type.
    pub fn any(&self) -> &PreparedAny {
        &self.any
    }

    /// What it was built from.
    pub fn operation(&self) -> &Operation {
        self.any.operation()
    }

    /// Puts it on a stream and returns at once. Sizes of zero are a no-op. Never compiles, allocates or locks.
    ///
    /// # Errors
    /// [`Error::Argument`] for a size, length, dtype, alignment or overlap that does not fit, [`Error::Limit`] for a
    /// grid beyond the device's, [`Error::WrongContext`] for a stream of another context or a kernel prepared for the
    /// emulator, driver errors.
    pub fn launch<'a>(
        &self,
        stream: &'a CudaStream,
        args: K::Args<BufferArg<'a>>,
        shape: K::Shape,
    ) -> Result<(), Error> {
        let inner = &*self.any.inner;
        inner.launch(stream, |f| args.for_each(f), |f| shape.for_each(f), |_| {})
    }

    /// [`Prepared::launch`] that gives the bytes which the launch reads and writes.
    pub(crate) fn launch_counted<'a>(
        &self,
        stream: &'a CudaStream,
        args: K::Args<BufferArg<'a>>,
        shape: K::Shape,
    ) -> Result<u64, Error> {
        let inner = &*self.any.inner;
        let mut bytes = 0;
        let count = |call: &Call| bytes = inner.signature.payload(call);
        inner.launch(stream, |f| args.for_each(f), |f| shape.for_each(f), count)?;
        Ok(bytes)
    }

    /// Runs it on the stream of its device or in the emulator, and waits for it.
    ///
    /// # Errors
    /// As [`PreparedAny::run_named`].
    pub fn run<'a>(&'a self, args: K::Args<BufferArg<'a>>, shape: K::Shape) -> Result<Outcome, Error> {
        let sizes = shape.sizes().into_iter().map(|(_, value)| value).collect();
        self.any.inner.run(sizes, args.into_values())
    }
}

impl Inner {
    fn argument(&self, error: ArgumentError) -> Error {
        Error::Argument { kernel: self.label.clone(), error }
    }

    fn run<'a>(&'a self, sizes: Vec<u64>, args: Vec<Arg<'a>>) -> Result<Outcome, Error> {
        match &self.core.backend {
            Backend::Cuda(device) => {
                let began = std::time::Instant::now();
                self.launch(
                    device.stream(),
                    |f| args.into_iter().for_each(f),
                    |f| sizes.into_iter().for_each(f),
                    |_| {},
                )?;
                device.synchronize()?;
                Ok(Outcome::of_device(began.elapsed()))
            }
            Backend::Emulated(device) => {
                emulated::run(device, &self.operation, &self.signature, sizes, args, |error| {
                    self.argument(error)
                })
            }
        }
    }

    /// Checks and launches. `args` and `sizes` hand their values to the closure that they are given; `checked` sees the
    /// numbers of a launch that passed.
    fn launch<'a>(
        &self,
        stream: &'a CudaStream,
        args: impl FnOnce(&mut dyn FnMut(Arg<'a>)),
        sizes: impl FnOnce(&mut dyn FnMut(u64)),
        checked: impl FnOnce(&Call),
    ) -> Result<(), Error> {
        if self.core.is_emulated() {
            return Err(Error::WrongContext { what: "the stream", owner: self.core.name() });
        }
        let mut call = Call::new();
        sizes(&mut |value| call.size(value));
        // Uses are recorded when these are dropped, after the launch.
        let mut uses = [const { None }; MAX_ARGUMENTS];
        let mut foreign = None;
        args(&mut |value| {
            let index = call.args();
            match value {
                ArgValue::Scalar(bits) => call.scalar(bits),
                ArgValue::Buffer(arg) => match borrow(arg, stream) {
                    Ok((address, bytes, dtype, writable, used)) => {
                        call.buffer(address, bytes, dtype, writable);
                        if let Some(place) = uses.get_mut(index) {
                            *place = used;
                        }
                    }
                    Err(place) => {
                        call.scalar(0);
                        foreign.get_or_insert((index, place));
                    }
                },
            }
        });
        if let Some((index, place)) = foreign {
            let name = self.signature.args().get(index).copied().unwrap_or("(one too many)");
            return Err(self.argument(ArgumentError::WrongDevice { name, place, launch: self.core.name() }));
        }
        self.signature.check(&mut call).map_err(|error| self.argument(error))?;
        checked(&call);
        for (step, launch) in self.signature.steps().iter().zip(&self.launches) {
            let blocks = self.signature.grid(step, &call).map_err(|error| self.argument(error))?;
            let grid = launch.grid_x(blocks)?;
            let mut addresses = [std::ptr::null_mut(); MAX_ARGUMENTS];
            for (address, &place) in addresses.iter_mut().zip(&step.params) {
                *address = call.numbers()[place..].as_ptr().cast_mut().cast();
            }
            // SAFETY: the parameters of the entry were matched with the arguments when it was prepared; buffers are
            // borrowed device memory of the stream's context, as long, aligned and disjoint as the kernel says it needs;
            // cudarc frees or reuses them only behind the uses that are recorded below, and raw ones are the promise of
            // who made them.
            unsafe { launch.enqueue_places(stream, grid, &mut addresses)? };
        }
        Ok(())
    }
}

/// Address, bytes, dtype, whether it may be written, and what records the use.
type Lent<'a> = (u64, u64, Dtype, bool, Option<SyncOnDrop<'a>>);

/// Takes the address of a buffer for a launch on `stream`, which from here on waits for its earlier uses; the error says
/// where the buffer is.
fn borrow<'a>(arg: BufferArg<'a>, stream: &'a CudaStream) -> Result<Lent<'a>, &'static str> {
    let bytes = arg.byte_len();
    let own = |buffer: &Arc<CudaStream>| match Arc::ptr_eq(buffer.context(), stream.context()) {
        true => Ok(()),
        // Two `CudaContext`s of one device count their streams apart, so that neither orders the other's uses.
        false if buffer.context().cu_ctx() == stream.context().cu_ctx() => {
            Err("of another `CudaContext` value")
        }
        false => Err("of another CUDA context"),
    };
    use cudarc::driver::DeviceSlice;
    let (address, writable, used) = match arg.memory {
        Borrowed::View(view) => {
            own(view.stream())?;
            let (address, used) = view.view_ptr(stream);
            (address, false, Some(used))
        }
        Borrowed::ViewMut(view) => {
            own(view.stream())?;
            let (address, used) = view.view_ptr_mut(stream);
            (address, true, Some(used))
        }
        Borrowed::Raw { address, .. } => (address, true, None),
        Borrowed::Emulated(_) | Borrowed::EmulatedMut(_) => return Err("in the emulator"),
    };
    Ok((address, bytes, arg.dtype, writable, used))
}

/// The launches of an operation's steps.
fn launches(module: &Arc<LoadedModule>, operation: &Operation) -> Result<Box<[Launch]>, Error> {
    let mut launches = Vec::with_capacity(operation.steps.len());
    for step in &operation.steps {
        let geometry = &step.geometry;
        let config = LaunchConfig {
            block: geometry.block,
            cluster: (geometry.cluster > 1).then_some([geometry.cluster, 1, 1]),
            shared_bytes: geometry.dynamic_shared,
            programmatic: geometry.pdl,
        };
        launches.push(Launch::prepare(&module.function(&step.entry)?, config)?);
    }
    Ok(launches.into())
}

/// `rms_norm{hidden=4096, eps=1e-6}`: the name with the fields of the spec.
pub(crate) fn label(kernel: &dyn AnyKernel, target: Target) -> String {
    let fields = kernel.fields(target);
    let spec: Vec<String> = fields
        .iter()
        .filter(|field| !field.schedule)
        .map(|field| format!("{}={}", field.name, field.text))
        .collect();
    format!("{}{{{}}}", kernel.name(), spec.join(", "))
}

/// Puts a named value at the place of its name.
fn place<T>(
    known: &[&'static str],
    name: &str,
    value: T,
    places: &mut [Option<T>],
) -> Result<(), ArgumentError> {
    let place = known.iter().position(|known| *known == name).and_then(|at| places.get_mut(at));
    match place {
        Some(place @ None) => *place = Some(value),
        other => {
            let twice = other.is_some();
            return Err(ArgumentError::Unknown { name: name.to_owned(), twice, known: known.to_vec() });
        }
    }
    Ok(())
}

/// The values, all of which have to be there.
fn complete<T>(known: &[&'static str], places: Vec<Option<T>>) -> Result<Vec<T>, ArgumentError> {
    let named = known.iter().zip(places);
    named.map(|(&name, value)| value.ok_or(ArgumentError::Missing { name })).collect()
}

impl<K> Clone for Prepared<K> {
    fn clone(&self) -> Prepared<K> {
        Prepared { any: self.any.clone(), kernel: PhantomData }
    }
}

impl fmt::Debug for PreparedAny {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedAny")
            .field("label", &self.inner.label)
            .field("device", &self.inner.core.name())
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for Prepared<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::device::Device;
    use crate::emulated::EmulatorOptions;
    use crate::scale::{MAX_ROWS, Rows, Scale, ScaleArgs};
    use half::bf16;
    use ptxsmith_builder::emu::Kind;

    const COLUMNS: u32 = 40;

    fn device() -> Device {
        let target = Target::sm(90).expect("a known target");
        Device::emulated(target, EmulatorOptions::default())
    }

    fn kernel() -> Scale {
        Scale::new(COLUMNS, 3.0, Dtype::F32, Dtype::Bf16)
    }

    fn input(rows: u32) -> Vec<f32> {
        (0..rows * COLUMNS).map(|i| i as f32 / 7.0).collect()
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn buffers(device: &Device, rows: u32) -> (Buffer, Buffer) {
        let x = device.upload("x", &bytes(&input(rows))).expect("memory");
        let y = device.alloc("y", 2 * (rows * COLUMNS) as usize).expect("memory");
        (x, y)
    }

    fn scaled(rows: u32) -> Vec<u8> {
        input(rows).iter().flat_map(|value| bf16::from_f32(value * 3.0).to_le_bytes()).collect()
    }

    #[test]
    fn typed_and_named_runs_agree_with_the_formula() {
        let device = device();
        let prepared = device.prepare(&kernel()).expect("a valid kernel");
        let (x, mut y) = buffers(&device, 5);
        let args = ScaleArgs { x: x.read(Dtype::F32), y: y.write(Dtype::Bf16), strides: None };
        let outcome = prepared.run(args, Rows(5)).expect("it fits");
        assert!(outcome.findings.is_empty() && outcome.unwritten.is_empty(), "{outcome:?}");
        assert_eq!(outcome.profiles[0].1.blocks, 5);
        assert_eq!(device.download(&y).expect("our buffer"), scaled(5));

        let (x, mut y) = buffers(&device, 5);
        let args = [("y", Arg::Buffer(y.write(Dtype::Bf16))), ("x", Arg::Buffer(x.read(Dtype::F32)))];
        prepared.any().run_named(args, &[("rows", 5)]).expect("it fits");
        assert_eq!(device.download(&y).expect("our buffer"), scaled(5));
    }

    #[test]
    fn strided_rows_leave_what_is_between_them() {
        let device = device();
        let kernel = Scale { strided: true, ..kernel() };
        let prepared = device.prepare(&kernel).expect("a valid kernel");
        let (x, _) = buffers(&device, 3);
        let mut y = device.upload("y", &[7; 3 * 48 * 2]).expect("memory");
        let args =
            ScaleArgs { x: x.read(Dtype::F32), y: y.write(Dtype::Bf16), strides: Some((COLUMNS.into(), 48)) };
        let outcome = prepared.run(args, Rows(3)).expect("it fits");
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        let expected: Vec<u8> =
            scaled(3).chunks(2 * COLUMNS as usize).flat_map(|row| [row, &[7; 16]].concat()).collect();
        assert_eq!(device.download(&y).expect("our buffer"), expected);
    }

    #[test]
    fn zero_rows_do_nothing() {
        let device = device();
        let prepared = device.prepare(&kernel()).expect("a valid kernel");
        let (x, mut y) =
            (device.alloc("x", 0).expect("memory"), device.upload("y", &[9; 4]).expect("memory"));
        let args = ScaleArgs { x: x.read(Dtype::F32), y: y.write(Dtype::Bf16), strides: None };
        let outcome = prepared.run(args, Rows(0)).expect("it fits");
        assert!(outcome.profiles.is_empty() && outcome.unwritten.is_empty());
        assert_eq!(device.download(&y).expect("our buffer"), [9; 4]);
    }

    #[test]
    fn reads_of_unwritten_memory_are_found_and_rows_left_out_are_named() {
        let device = device();
        let prepared = device.prepare(&kernel()).expect("a valid kernel");
        let (x, mut y) = buffers(&device, 4);
        let args = ScaleArgs { x: x.read(Dtype::F32), y: y.write(Dtype::Bf16), strides: None };
        let outcome = prepared.run(args, Rows(3)).expect("it fits");
        assert_eq!(outcome.unwritten, [("y", u64::from(3 * COLUMNS * 2))]);

        let mut z = device.alloc("z", 4 * COLUMNS as usize * 2).expect("memory");
        let copy = device.prepare(&Scale { x: Dtype::Bf16, ..kernel() }).expect("a valid kernel");
        let mut found = |rows| {
            let args = ScaleArgs { x: y.read(Dtype::Bf16), y: z.write(Dtype::Bf16), strides: None };
            copy.run(args, Rows(rows)).expect("it fits").findings
        };
        assert!(found(3).is_empty());
        let found = found(4);
        assert!(found.iter().any(|finding| finding.kind == Kind::UninitGlobal), "{found:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_kernel_value_and_limit() {
        let device = device();
        let prepared = device.prepare(&kernel()).expect("a valid kernel");
        let message = |args: Vec<(&str, Arg<'_>)>, sizes: &[(&str, u64)]| {
            prepared.any().run_named(args, sizes).expect_err("it does not fit").to_string()
        };
        let (x, mut y) = buffers(&device, 2);
        let label = "scale{columns=40, factor=3e0, x=f32, y=bf16}: ";
        let rows = [("rows", 2)];
        assert_eq!(
            message(vec![("x", Arg::Buffer(x.read(Dtype::F32)))], &rows),
            format!("{label}argument `y` is not given")
        );
        assert_eq!(
            message(vec![("z", Arg::Buffer(x.read(Dtype::F32)))], &rows),
            format!("{label}`z` is unknown; the kernel takes x, y")
        );
        let twice = || ("x", Arg::Buffer(x.read(Dtype::F32)));
        assert!(message(vec![twice(), twice()], &rows).contains("`x` is given twice"));
        let both = |y: &mut Buffer, sizes: &[(&str, u64)]| {
            let args = vec![("x", Arg::Buffer(x.read(Dtype::F32))), ("y", Arg::Buffer(y.write(Dtype::Bf16)))];
            message(args, sizes)
        };
        assert!(both(&mut y, &[]).contains("argument `rows` is not given"));
        assert!(both(&mut y, &[("rows", 3)]).contains("needed are 480"));
        assert!(both(&mut y, &[("rows", MAX_ROWS + 1)]).contains("the limit is 2147483647"));
        let lent = vec![("x", Arg::Buffer(x.read(Dtype::F32))), ("y", Arg::Buffer(y.read(Dtype::Bf16)))];
        assert!(message(lent, &rows).contains("lent for reading only"));
        // SAFETY: the launch is refused before anything touches the address.
        let raw = unsafe { BufferArg::from_raw(0x1000, 1 << 20, Dtype::F32) };
        let raw = vec![("x", Arg::Buffer(raw)), ("y", Arg::Buffer(y.write(Dtype::Bf16)))];
        assert!(message(raw, &rows).contains("on a CUDA device, the launch is on emulated sm_90"));
    }

    #[test]
    fn prepared_kernels_go_to_any_thread_and_name_themselves() {
        fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
        let prepared = device().prepare(&kernel()).expect("a valid kernel");
        shared(&prepared);
        shared(prepared.any());
        assert_eq!(prepared.any().label(), "scale{columns=40, factor=3e0, x=f32, y=bf16}");
        assert!(prepared.any().launches().is_empty());
    }
}
