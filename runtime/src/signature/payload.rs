//! The bytes that a launch moves, for rates of transfer.

use super::{Call, Kind, Signature};

impl Signature {
    /// Bytes that a checked launch reads and writes, without what lies between strided rows: each buffer counts once, one
    /// that is read and written twice.
    pub(crate) fn payload(&self, call: &Call) -> u64 {
        let mut numbers = call.numbers;
        let strides = || {
            self.args.iter().enumerate().filter_map(|(index, arg)| match &arg.kind {
                Kind::Stride { of, .. } => Some((call.sizes + index, *of)),
                Kind::Buffer { .. } | Kind::Scalar { .. } => None,
            })
        };
        strides().for_each(|(place, _)| numbers[place] = 0);
        // Rows that all lie at the start span one row; at that stride they span what they hold.
        let rows: Vec<(usize, u64)> = strides()
            .filter_map(|(place, of)| {
                let buffer = self.args.iter().find(|arg| arg.name == of)?;
                let Kind::Buffer { len, .. } = &buffer.kind else { return None };
                Some((place, len.eval(&numbers)?))
            })
            .collect();
        rows.into_iter().for_each(|(place, row)| numbers[place] = row);
        let buffers = self.args.iter().filter_map(|arg| match &arg.kind {
            Kind::Buffer { dtype, read, written, len, .. } => {
                let times = u64::from(*read) + u64::from(*written);
                len.eval(&numbers)?.checked_mul(times * u64::from(dtype.bytes()))
            }
            Kind::Scalar { .. } | Kind::Stride { .. } => None,
        });
        buffers.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;
    use ptxsmith_builder::kernel::AnyKernel;
    use ptxsmith_builder::target::Target;
    use ptxsmith_builder::types::Dtype;

    #[test]
    fn what_lies_between_rows_is_left_out() {
        let payload = |strided, strides: &[u64]| {
            let kernel = Scale { strided, ..Scale::new(96, 2.0, Dtype::F32, Dtype::Bf16) };
            let target = Target::sm(90).expect("a known target");
            let operation = kernel.operation(target).expect("a valid kernel");
            let mut call = Call::new();
            call.size(4);
            for _ in 0..2 {
                call.buffer(0, 0, Dtype::F32, true);
            }
            strides.iter().for_each(|&stride| call.scalar(stride));
            Signature::new(&operation).expect("a consistent kernel").payload(&call)
        };
        // 4 rows of 96 f32 read and as many bf16 written.
        assert_eq!(payload(false, &[]), 4 * 96 * (4 + 2));
        assert_eq!(payload(true, &[128, 104]), 4 * 96 * (4 + 2));
    }
}
