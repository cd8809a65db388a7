//! Device time of each kernel, measured by events around its launches and read once at the end.
//!
//! * [`Profiler::launch`] takes the place of [`Prepared::launch`]. Where it is on, it records an event before and one after
//!   the launch on the launch's own stream; no launch waits. Where it is off, it is the launch itself behind one branch.
//! * [`Profiler::collect`] waits for the last events and adds the times up by kernel and spec.
//! * Bytes are what the kernel says that it reads and writes, each element once; a rate is those bytes over the time, so
//!   that repeated reads and whole sectors around short rows do not flatter it.
//!
//! Limits: a time contains what the device needs between two events even for an empty kernel, one to two microseconds; a
//! launch beyond the capacity or inside a stream capture runs unmeasured, and is counted as that.

use std::fmt::{self, Write};
use std::sync::Arc;

use cudarc::driver::sys::{CUevent_flags, CUstreamCaptureStatus};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use ptxsmith_builder::kernel::Kernel;

use crate::argument::BufferArg;
use crate::cuda::{CudaDevice, Timer};
use crate::driver::require;
use crate::error::Error;
use crate::prepared::{Prepared, PreparedAny};

/// Launches that are measured, or passed through where it is off.
#[derive(Debug, Default)]
pub struct Profiler {
    on: Option<Measuring>,
}

#[derive(Debug)]
struct Measuring {
    context: Arc<CudaContext>,
    device: String,
    free: Vec<[CudaEvent; 2]>,
    marks: Vec<Mark>,
    unmeasured: u64,
}

/// A launch under way.
#[derive(Debug)]
struct Mark {
    kernel: PreparedAny,
    bytes: u64,
    events: [CudaEvent; 2],
}

impl Profiler {
    /// Measures nothing: launches pass through.
    pub fn off() -> Profiler {
        Profiler::default()
    }

    /// Measures up to `capacity` launches between two [`collect`](Profiler::collect)s. Every event is created here.
    ///
    /// # Errors
    /// [`Error::DriverIncomplete`] if the driver cannot time events this way (before CUDA 12.8), driver errors.
    pub fn new(device: &CudaDevice, capacity: usize) -> Result<Profiler, Error> {
        require("cuEventElapsedTime_v2")?;
        let context = Arc::clone(device.context());
        let event = || {
            let event = context.new_event(Some(CUevent_flags::CU_EVENT_DEFAULT));
            event.map_err(|e| Error::driver("cuEventCreate", e))
        };
        let free = (0..capacity).map(|_| Ok([event()?, event()?])).collect::<Result<Vec<_>, Error>>()?;
        let (device, marks) = (device.info().name.clone(), Vec::with_capacity(capacity));
        Ok(Profiler { on: Some(Measuring { context, device, free, marks, unmeasured: 0 }) })
    }

    /// Whether it measures.
    pub fn is_on(&self) -> bool {
        self.on.is_some()
    }

    /// [`Prepared::launch`], measured if the profiler is on.
    ///
    /// # Errors
    /// As [`Prepared::launch`].
    pub fn launch<'a, K: Kernel>(
        &mut self,
        kernel: &Prepared<K>,
        stream: &'a CudaStream,
        args: K::Args<BufferArg<'a>>,
        shape: K::Shape,
    ) -> Result<(), Error> {
        let Some(on) = &mut self.on else { return kernel.launch(stream, args, shape) };
        let none = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let status = stream.capture_status().map_err(|e| Error::driver("cuStreamIsCapturing", e))?;
        let own = stream.context().cu_ctx() == on.context.cu_ctx();
        let Some(events) = (own && status == none).then(|| on.free.pop()).flatten() else {
            on.unmeasured += 1;
            return kernel.launch(stream, args, shape);
        };
        let record = |event: &CudaEvent| event.record(stream).map_err(|e| Error::driver("cuEventRecord", e));
        let launched = record(&events[0])
            .and_then(|()| kernel.launch_counted(stream, args, shape))
            .and_then(|bytes| record(&events[1]).map(|()| bytes));
        match launched {
            Ok(bytes) => on.marks.push(Mark { kernel: kernel.any().clone(), bytes, events }),
            Err(error) => {
                on.free.push(events);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Waits for what was measured since the last call and adds it up. Empty if the profiler is off.
    ///
    /// # Errors
    /// [`Error::Sticky`] if a kernel failed, driver errors. The measurements are gone then.
    pub fn collect(&mut self) -> Result<Profile, Error> {
        let Some(on) = &mut self.on else { return Ok(Profile::default()) };
        let mut profile = Profile {
            device: on.device.clone(),
            unmeasured: std::mem::take(&mut on.unmeasured),
            ..Profile::default()
        };
        let mut failed = None;
        for Mark { kernel, bytes, events } in on.marks.drain(..) {
            if failed.is_none() {
                match events[0].elapsed_ms(&events[1]) {
                    Ok(time) => {
                        profile.add(kernel.operation().kernel, kernel.label(), f64::from(time), bytes);
                    }
                    Err(error) => failed = Some(Error::driver("cuEventElapsedTime", error)),
                }
            }
            on.free.push(events);
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(profile),
        }
    }
}

/// Device times by kernel and spec.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// Name of the device.
    pub device: String,
    /// Rate of a copy on the device in GB/s (10⁹ bytes), read and written bytes together; what shares refer to.
    pub copy_ceiling: Option<f64>,
    /// Kernels in the order of their first launch.
    pub kernels: Vec<KernelTime>,
    /// Launches that were not measured.
    pub unmeasured: u64,
}

/// The launches of one kernel value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct KernelTime {
    /// Name of the kernel.
    pub kernel: String,
    /// Name with the spec.
    pub spec: String,
    /// Number of launches.
    pub launches: u64,
    /// Sum of their times in milliseconds.
    pub total_ms: f64,
    /// Shortest time in milliseconds.
    pub min_ms: f64,
    /// Longest time in milliseconds.
    pub max_ms: f64,
    /// Sum of the bytes read and written.
    pub bytes: u64,
}

impl KernelTime {
    /// Bytes over time in GB/s (10⁹ bytes); `None` where no time passed.
    pub fn rate(&self) -> Option<f64> {
        (self.total_ms > 0.0).then(|| self.bytes as f64 / self.total_ms / 1e6)
    }

    /// [`rate`](KernelTime::rate) as a share of a copy's.
    pub fn share(&self, copy_ceiling: f64) -> Option<f64> {
        self.rate().filter(|_| copy_ceiling > 0.0).map(|rate| rate / copy_ceiling)
    }
}

impl Profile {
    /// The same times with a ceiling for the shares, in GB/s; [`copy_ceiling`] measures one.
    #[must_use]
    pub fn with_copy_ceiling(self, rate: f64) -> Profile {
        Profile { copy_ceiling: Some(rate), ..self }
    }

    fn add(&mut self, kernel: &str, spec: &str, ms: f64, bytes: u64) {
        let found = self.kernels.iter().position(|known| known.spec == spec);
        let at = found.unwrap_or_else(|| {
            self.kernels.push(KernelTime {
                kernel: kernel.to_owned(),
                spec: spec.to_owned(),
                launches: 0,
                total_ms: 0.0,
                min_ms: f64::INFINITY,
                max_ms: 0.0,
                bytes: 0,
            });
            self.kernels.len() - 1
        });
        let row = &mut self.kernels[at];
        row.launches += 1;
        row.total_ms += ms;
        row.min_ms = row.min_ms.min(ms);
        row.max_ms = row.max_ms.max(ms);
        row.bytes = row.bytes.saturating_add(bytes);
    }

    /// One JSON object: `device`, `copy_gb_per_s`, `unmeasured` and `kernels` with `kernel`, `spec`, `launches`,
    /// `total_ms`, `min_ms`, `max_ms`, `bytes`, `gb_per_s` and `copy_share`; what is not known is `null`.
    pub fn to_json(&self) -> String {
        let number = |value: Option<f64>| match value {
            Some(value) if value.is_finite() => value.to_string(),
            _ => "null".to_owned(),
        };
        let kernels: Vec<String> = self
            .kernels
            .iter()
            .map(|row| {
                format!(
                    "{{\"kernel\":{},\"spec\":{},\"launches\":{},\"total_ms\":{},\"min_ms\":{},\"max_ms\":{},\
                     \"bytes\":{},\"gb_per_s\":{},\"copy_share\":{}}}",
                    quoted(&row.kernel),
                    quoted(&row.spec),
                    row.launches,
                    number(Some(row.total_ms)),
                    number(Some(row.min_ms)),
                    number(Some(row.max_ms)),
                    row.bytes,
                    number(row.rate()),
                    number(self.copy_ceiling.and_then(|ceiling| row.share(ceiling))),
                )
            })
            .collect();
        format!(
            "{{\"device\":{},\"copy_gb_per_s\":{},\"unmeasured\":{},\"kernels\":[{}]}}",
            quoted(&self.device),
            number(self.copy_ceiling),
            self.unmeasured,
            kernels.join(",")
        )
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.kernels {
            let mean = 1e3 * row.total_ms / row.launches.max(1) as f64;
            write!(f, "{}: {} launches, mean {mean:.2} us", row.spec, row.launches)?;
            if let Some(rate) = row.rate() {
                write!(f, ", {rate:.0} GB/s")?;
            }
            if let Some(share) = self.copy_ceiling.and_then(|ceiling| row.share(ceiling)) {
                write!(f, ", {:.0}% of a copy", 100.0 * share)?;
            }
            writeln!(f)?;
        }
        write!(f, "{} launches not measured", self.unmeasured)
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Measures the rate of a copy of `bytes` bytes on the device in GB/s, read and written bytes together: the best of
/// several copies, each long enough to hide the events around it only if `bytes` is some hundred megabytes.
///
/// # Errors
/// [`Error::OutOfMemory`], [`Error::DriverIncomplete`] for a driver that cannot time events, driver errors.
pub fn copy_ceiling(device: &CudaDevice, bytes: usize) -> Result<f64, Error> {
    const COPIES: u32 = 8;
    let (from, mut to) = (device.alloc(bytes)?, device.alloc(bytes)?);
    let timer = Timer::new(device.stream())?;
    let mut best = f32::INFINITY;
    for _ in 0..COPIES {
        timer.start()?;
        let copied = device.stream().memcpy_dtod(&from, &mut to);
        copied.map_err(|e| Error::driver("cuMemcpyDtoDAsync", e))?;
        timer.stop()?;
        best = best.min(timer.milliseconds()?);
    }
    Ok(2.0 * bytes as f64 / f64::from(best) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let mut profile = Profile { device: "a \"device\"\n".to_owned(), ..Profile::default() };
        profile.add("scale", "scale{columns=8}", 0.5, 1_000_000);
        profile.add("scale", "scale{columns=9}", 1.0, 10);
        profile.add("scale", "scale{columns=8}", 1.5, 3_000_000);
        profile
    }

    #[test]
    fn times_are_added_up_by_spec() {
        let profile = profile();
        assert_eq!(profile.kernels.len(), 2);
        let row = &profile.kernels[0];
        assert_eq!((row.launches, row.total_ms, row.min_ms, row.max_ms), (2, 2.0, 0.5, 1.5));
        // 4 MB in 2 ms.
        assert_eq!((row.bytes, row.rate(), row.share(4.0)), (4_000_000, Some(2.0), Some(0.5)));
        assert_eq!(row.share(0.0), None);
    }

    #[test]
    fn json_escapes_names_and_says_null_for_what_is_not_known() {
        let json = profile().to_json();
        assert!(
            json.starts_with("{\"device\":\"a \\\"device\\\"\\u000a\",\"copy_gb_per_s\":null,"),
            "{json}"
        );
        assert!(json.contains("\"bytes\":4000000,\"gb_per_s\":2,\"copy_share\":null}"), "{json}");
        let json = profile().with_copy_ceiling(4.0).to_json();
        assert!(json.contains("\"copy_gb_per_s\":4,") && json.contains("\"copy_share\":0.5}"), "{json}");
    }

    #[test]
    fn a_profiler_that_is_off_has_nothing_to_tell() {
        let mut off = Profiler::off();
        assert!(!off.is_on());
        assert_eq!(off.collect().expect("nothing can fail"), Profile::default());
    }
}
