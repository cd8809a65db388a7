//! Launches recorded once and replayed as one: CUDA graphs that own the buffers they work on.
//!
//! A graph keeps the addresses that were recorded, so that a buffer which is freed or moved under it would be written
//! behind somebody's back. So buffers are moved into a [`GraphBuffers`] first, recorded by their [`Slot`], and reached
//! through the graph afterwards. Replays take part in cudarc's ordering of streams: each one waits for earlier uses of the
//! buffers and is waited for by later ones.
//!
//! While a graph is recorded, kernels have to be prepared already: a miss is [`Error::MissInCapture`].

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, CudaViewMut, DevicePtrMut, SyncOnDrop};
use ptxsmith_builder::kernel::{ArgValue, Args, Kernel, Shape};
use ptxsmith_builder::types::Dtype;

use crate::argument::{BufferArg, Element};
use crate::device::Device;
use crate::error::Error;
use crate::prepared::{Prepared, PreparedAny};

/// Tells slots of different collections apart.
static COLLECTIONS: AtomicU64 = AtomicU64::new(0);

/// Buffers that a graph will own.
pub struct GraphBuffers {
    id: u64,
    buffers: Vec<Entry>,
}

/// A buffer and what its elements are.
struct Entry {
    slice: Box<dyn Owned>,
    dtype: Dtype,
}

/// A buffer of a [`GraphBuffers`], with elements of type `T`.
pub struct Slot<T> {
    collection: u64,
    index: usize,
    element: PhantomData<fn() -> T>,
}

/// A buffer of a graph as an argument of a recorded launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphArg {
    collection: u64,
    index: usize,
}

/// Launches on buffers of its own, to be replayed.
pub struct Graph {
    graph: CudaGraph,
    stream: Arc<CudaStream>,
    buffers: GraphBuffers,
    /// Keeps the code loaded.
    kernels: Vec<PreparedAny>,
}

// SAFETY: the driver lets every thread use a graph as long as no two do so at a time; replaying and dropping it need it
// exclusively, and nothing else touches the graph.
unsafe impl Send for Graph {}

/// A graph that could not be recorded, with the buffers that were handed over.
pub struct RecordError {
    /// What went wrong.
    pub error: Box<Error>,
    /// The buffers.
    pub buffers: GraphBuffers,
}

/// Where the launches of a graph are recorded.
pub struct Recording<'a> {
    stream: &'a CudaStream,
    id: u64,
    /// Address, bytes and dtype of each buffer.
    places: Vec<(u64, u64, Dtype)>,
    kernels: Vec<PreparedAny>,
}

/// A slice of any element.
trait Owned: Send {
    /// Makes the stream wait for earlier uses; the use is recorded when the second value is dropped.
    fn lend<'a>(&'a mut self, stream: &'a CudaStream) -> (u64, SyncOnDrop<'a>);
    fn bytes(&self) -> u64;
    fn is_of(&self, stream: &CudaStream) -> bool;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: Element + 'static> Owned for CudaSlice<T> {
    fn lend<'a>(&'a mut self, stream: &'a CudaStream) -> (u64, SyncOnDrop<'a>) {
        self.device_ptr_mut(stream)
    }

    fn bytes(&self) -> u64 {
        self.num_bytes() as u64
    }

    fn is_of(&self, stream: &CudaStream) -> bool {
        Arc::ptr_eq(self.context(), stream.context())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Default for GraphBuffers {
    fn default() -> GraphBuffers {
        GraphBuffers { id: COLLECTIONS.fetch_add(1, Ordering::Relaxed), buffers: Vec::new() }
    }
}

impl GraphBuffers {
    /// No buffers.
    pub fn new() -> GraphBuffers {
        GraphBuffers::default()
    }

    /// Takes a buffer over.
    pub fn add<T: Element + 'static>(&mut self, slice: CudaSlice<T>) -> Slot<T> {
        self.push(slice, T::DTYPE)
    }

    /// Takes bytes over, to be read or written as elements of a dtype; for dtypes that Rust has no type for.
    pub fn add_bytes(&mut self, slice: CudaSlice<u8>, dtype: Dtype) -> Slot<u8> {
        self.push(slice, dtype)
    }

    fn push<T: Element + 'static>(&mut self, slice: CudaSlice<T>, dtype: Dtype) -> Slot<T> {
        self.buffers.push(Entry { slice: Box::new(slice), dtype });
        Slot { collection: self.id, index: self.buffers.len() - 1, element: PhantomData }
    }

    /// A buffer; `None` for a slot of another collection.
    pub fn get<T: Element + 'static>(&self, slot: Slot<T>) -> Option<&CudaSlice<T>> {
        let own = (slot.collection == self.id).then(|| self.buffers.get(slot.index))?;
        own?.slice.as_any().downcast_ref()
    }

    /// A buffer, to be written.
    pub fn get_mut<T: Element + 'static>(&mut self, slot: Slot<T>) -> Option<&mut CudaSlice<T>> {
        let own = (slot.collection == self.id).then(|| self.buffers.get_mut(slot.index))?;
        own?.slice.as_any_mut().downcast_mut()
    }

    /// Gives a buffer back; an empty one takes its place, so that other slots stay good.
    ///
    /// # Errors
    /// Driver errors.
    pub fn take<T: Element + 'static>(&mut self, slot: Slot<T>) -> Result<Option<CudaSlice<T>>, Error> {
        let Some(slice) = self.get(slot) else { return Ok(None) };
        let stream = Arc::clone(slice.stream());
        let empty = stream.null::<T>().map_err(|e| Error::driver("cuMemAllocAsync", e))?;
        let taken = std::mem::replace(&mut self.buffers[slot.index].slice, Box::new(empty));
        Ok(taken.into_any().downcast().ok().map(|slice| *slice))
    }

    /// Records launches on a stream of a device, without running them.
    ///
    /// # Errors
    /// What `record` returns; [`Error::Unsupported`] for the emulator, [`Error::WrongContext`] for a stream or a buffer of
    /// another context, driver errors. The buffers come back with the error.
    pub fn record(
        mut self,
        device: &Device,
        stream: &Arc<CudaStream>,
        record: impl FnOnce(&mut Recording<'_>) -> Result<(), Error>,
    ) -> Result<Graph, RecordError> {
        match self.try_record(device, stream, record) {
            Ok((graph, kernels)) => Ok(Graph { graph, stream: Arc::clone(stream), buffers: self, kernels }),
            Err(error) => Err(RecordError { error: Box::new(error), buffers: self }),
        }
    }

    fn try_record(
        &mut self,
        device: &Device,
        stream: &Arc<CudaStream>,
        record: impl FnOnce(&mut Recording<'_>) -> Result<(), Error>,
    ) -> Result<(CudaGraph, Vec<PreparedAny>), Error> {
        let Some(cuda) = device.as_cuda() else {
            return Err(Error::Unsupported {
                kernel: "a graph".to_owned(),
                what: "stream capture",
                needs: "a CUDA device",
                device: device.name(),
            });
        };
        let foreign = |what| Error::WrongContext { what, owner: device.name() };
        if cuda.context().cu_ctx() != stream.context().cu_ctx() {
            return Err(foreign("the stream"));
        }
        if !self.buffers.iter().all(|buffer| buffer.slice.is_of(stream)) {
            return Err(foreign("a buffer of the graph"));
        }
        // Waits come before the capture: they are for this moment, not for each replay.
        let places = self
            .buffers
            .iter_mut()
            .map(|buffer| {
                let bytes = buffer.slice.bytes();
                (buffer.slice.lend(stream).0, bytes, buffer.dtype)
            })
            .collect();
        let _capturing = device.cache().capturing();
        stream
            .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .map_err(|e| Error::driver("cuStreamBeginCapture", e))?;
        let mut unfinished = Unfinished(Some(stream));
        let mut recording = Recording { stream, id: self.id, places, kernels: Vec::new() };
        let recorded = record(&mut recording);
        let kernels = recording.kernels;
        unfinished.0 = None;
        // A capture has to end even if what it recorded is of no use.
        let graph = stream.end_capture(CUgraphInstantiate_flags(0));
        recorded?;
        match graph.map_err(|e| Error::driver("cuStreamEndCapture", e))? {
            Some(graph) => Ok((graph, kernels)),
            None => Err(Error::MalformedKernel {
                kernel: "a graph".to_owned(),
                reason: "the capture was broken by a call that cannot be captured".to_owned(),
            }),
        }
    }
}

/// Ends a capture when what records it panics.
struct Unfinished<'a>(Option<&'a Arc<CudaStream>>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.0
            && let Err(error) = stream.end_capture(CUgraphInstantiate_flags(0))
        {
            tracing::warn!(?error, "an abandoned capture did not end well");
        }
    }
}

impl Recording<'_> {
    /// Records a launch.
    ///
    /// # Errors
    /// As [`Prepared::launch`], and [`Error::WrongContext`] for a slot of other buffers.
    pub fn launch<K: Kernel>(
        &mut self,
        kernel: &Prepared<K>,
        args: K::Args<GraphArg>,
        shape: K::Shape,
    ) -> Result<(), Error> {
        let mut values = Vec::new();
        args.for_each(|value| values.push(value));
        let mut sizes = Vec::new();
        shape.for_each(|value| sizes.push(value));
        self.launch_any(kernel.any(), values, sizes)
    }

    /// Records a launch of a kernel whose type is not known: arguments in the order of the operation's, sizes likewise.
    ///
    /// # Errors
    /// As [`Recording::launch`].
    pub fn launch_any(
        &mut self,
        kernel: &PreparedAny,
        args: impl IntoIterator<Item = ArgValue<GraphArg>>,
        sizes: impl IntoIterator<Item = u64>,
    ) -> Result<(), Error> {
        let values: Option<Vec<_>> = args
            .into_iter()
            .map(|value| match value {
                ArgValue::Scalar(bits) => Some(ArgValue::Scalar(bits)),
                ArgValue::Buffer(arg) => {
                    let place = self.places.get(arg.index).filter(|_| arg.collection == self.id)?;
                    let (address, bytes, dtype) = *place;
                    // SAFETY: the buffer belongs to the graph, which keeps it as long as it can be replayed, and orders
                    // replays with all other uses. Within the graph the stream orders the launches.
                    Some(ArgValue::Buffer(unsafe { BufferArg::from_raw(address, bytes, dtype) }))
                }
            })
            .collect();
        let Some(values) = values else {
            return Err(Error::WrongContext { what: "a slot", owner: "this graph".to_owned() });
        };
        kernel.launch_values(self.stream, values, sizes)?;
        self.kernels.push(kernel.clone());
        Ok(())
    }
}

impl Graph {
    /// Replays it on the stream that it was recorded on, and returns at once.
    ///
    /// # Errors
    /// Driver errors, [`Error::Sticky`] among them.
    pub fn launch(&mut self) -> Result<(), Error> {
        let stream = &*self.stream;
        let lent: Vec<SyncOnDrop<'_>> =
            self.buffers.buffers.iter_mut().map(|buffer| buffer.slice.lend(stream).1).collect();
        let launched = self.graph.launch().map_err(|e| Error::driver("cuGraphLaunch", e));
        drop(lent);
        let modules = self.kernels.iter().flat_map(|kernel| kernel.launches());
        let mut modules = modules.map(|launch| launch.function().module());
        match launched {
            Ok(()) => modules.for_each(|module| module.note_launch(stream.cu_stream())),
            Err(error) => return Err(modules.next().map_or(error.clone(), |module| module.explain(error))),
        }
        Ok(())
    }

    /// Its buffers, to be read or written between replays.
    pub fn buffers(&self) -> &GraphBuffers {
        &self.buffers
    }

    /// A buffer, to be written between replays; `None` for a slot of another graph. It is a view, since the graph goes
    /// on using the memory that it recorded.
    pub fn buffer_mut<T: Element + 'static>(&mut self, slot: Slot<T>) -> Option<CudaViewMut<'_, T>> {
        self.buffers.get_mut(slot).map(CudaSlice::as_view_mut)
    }

    /// The kernels that it launches, in order.
    pub fn kernels(&self) -> &[PreparedAny] {
        &self.kernels
    }

    /// Ends the graph and gives its buffers back.
    pub fn into_buffers(self) -> GraphBuffers {
        self.buffers
    }
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Slot<T> {
        *self
    }
}

impl<T> Copy for Slot<T> {}

impl<T> fmt::Debug for Slot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({})", self.index)
    }
}

impl<T> From<Slot<T>> for GraphArg {
    fn from(slot: Slot<T>) -> GraphArg {
        GraphArg { collection: slot.collection, index: slot.index }
    }
}

impl fmt::Debug for GraphBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.buffers.iter().map(|buffer| (buffer.dtype, buffer.slice.bytes()));
        f.debug_list().entries(entries).finish()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("buffers", &self.buffers)
            .field("kernels", &self.kernels)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordError").field("error", &self.error).field("buffers", &self.buffers).finish()
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the graph cannot be recorded: {}", self.error)
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.error)
    }
}
