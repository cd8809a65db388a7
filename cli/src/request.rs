//! Reads what the options of several commands have in common: kernels, targets, devices, `name=value` pairs.

use ptxsmith_builder::kernel::{AnyKernel, FieldError, nearest};
use ptxsmith_builder::target::Target;
use ptxsmith_kernels::registry::{self, KernelInfo};

use crate::error::Error;

/// The kernel value that the options describe. A schedule that is given in part is completed by what the heuristic chooses for
/// `target`.
pub(crate) fn kernel(
    name: &str,
    set: &[String],
    schedule: &[String],
    target: Target,
) -> Result<(&'static KernelInfo, Box<dyn AnyKernel>), Error> {
    let info = registry::find(name)?;
    let parse = |pairs: &[(String, String)]| {
        info.parse(pairs.iter().cloned()).map_err(|error| Error::kernel(info.name, error))
    };
    let mut pairs = fields(info, "--set", set)?;
    let schedule = fields(info, "--schedule", schedule)?;
    if schedule.is_empty() {
        return Ok((info, parse(&pairs)?));
    }
    let chosen = parse(&pairs)?.fields(target);
    let missing = chosen
        .into_iter()
        .filter(|field| field.schedule && schedule.iter().all(|(name, _)| name != field.name));
    pairs.extend(missing.map(|field| (field.name.to_owned(), field.text)));
    pairs.extend(schedule);
    Ok((info, parse(&pairs)?))
}

/// The fields given with an option, all of which the kernel has and takes there.
fn fields(info: &KernelInfo, option: &'static str, texts: &[String]) -> Result<Vec<(String, String)>, Error> {
    let known = (info.fields)();
    let pairs = pairs(option, "field=value", texts)?;
    for (name, _) in &pairs {
        let wanted = |schedule: bool| if schedule { "--schedule" } else { "--set" };
        match known.iter().find(|field| field.name == name) {
            Some(field) if wanted(field.schedule) == option => {}
            Some(field) => {
                let wanted = wanted(field.schedule);
                return Err(Error::WrongOption { kernel: info.name, field: name.clone(), wanted });
            }
            // A misspelt field is missing too; the spelling is what to mend.
            None => {
                let taken = known.iter().filter(|field| wanted(field.schedule) == option);
                let known = taken.map(|field| field.name).collect();
                let error = FieldError::Unknown { name: name.clone(), known };
                return Err(Error::kernel(info.name, error.into()));
            }
        }
    }
    Ok(pairs)
}

/// `name=value` texts of an option, in order.
pub(crate) fn pairs(
    option: &'static str,
    form: &'static str,
    texts: &[String],
) -> Result<Vec<(String, String)>, Error> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                Ok((name.to_owned(), value.to_owned()))
            }
            _ => Err(Error::NotAPair { option, text: text.clone(), form }),
        })
        .collect()
}

/// A target by name.
pub(crate) fn target(text: &str) -> Result<Target, Error> {
    text.parse().map_err(|_| {
        let names: Vec<String> = Target::all().iter().map(Target::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Error::Value {
            option: "--target",
            value: text.to_owned(),
            allowed: format!("a known target: {}", names.join(", ")),
            near: nearest(text, &names).map(str::to_owned),
        }
    })
}

/// Where a kernel runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceName {
    /// The emulator.
    Emulated,
    /// A CUDA device, by ordinal.
    Cuda(usize),
}

/// A device by name: `emulated`, `cuda`, `cuda:N`.
pub(crate) fn device(text: &str) -> Result<DeviceName, Error> {
    let wrong = || Error::Value {
        option: "--device",
        value: text.to_owned(),
        allowed: "emulated, cuda or cuda:N with a device number N".to_owned(),
        near: nearest(text, &["emulated", "cuda"]).map(str::to_owned),
    };
    match text.split_once(':') {
        None if text == "emulated" => Ok(DeviceName::Emulated),
        None if text == "cuda" => Ok(DeviceName::Cuda(0)),
        Some(("cuda", ordinal)) if ordinal.bytes().all(|byte| byte.is_ascii_digit()) => {
            ordinal.parse().map(DeviceName::Cuda).map_err(|_| wrong())
        }
        _ => Err(wrong()),
    }
}

impl std::fmt::Display for DeviceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceName::Emulated => f.write_str("emulated"),
            DeviceName::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_strictly() {
        assert_eq!(device("emulated").ok(), Some(DeviceName::Emulated));
        assert_eq!(device("cuda").ok(), Some(DeviceName::Cuda(0)));
        assert_eq!(device("cuda:3").ok(), Some(DeviceName::Cuda(3)));
        for text in
            ["", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "emulated:0", "CUDA", "cuda:99999999999999999999"]
        {
            let error = device(text).expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("cuda:N"), "{error}");
        }
    }

    #[test]
    fn pairs_need_a_name_and_a_value() {
        let read = |text: &str| pairs("--bind", "arg=TENSOR", &[text.to_owned()]);
        assert_eq!(read("x=a=b").ok(), Some(vec![("x".to_owned(), "a=b".to_owned())]));
        for text in ["x", "=a", "x=", ""] {
            let error = read(text).expect_err(text).to_string();
            assert_eq!(error, format!("--bind `{text}` is not of the form arg=TENSOR"));
        }
    }

    #[test]
    fn a_misspelt_target_gets_a_hint() {
        let error = target("sm90").expect_err("not a target").to_string();
        assert!(error.contains("`sm90`") && error.contains("did you mean `sm_90`?"), "{error}");
    }
}
