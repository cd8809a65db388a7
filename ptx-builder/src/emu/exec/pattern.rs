//! The addresses of a memory instruction as runs of lanes.

/// Lanes `lane .. lane + lanes` at consecutive addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Run {
    pub(super) address: u64,
    pub(super) lane: u32,
    pub(super) lanes: u32,
}

/// The runs of one instruction.
#[derive(Debug, Clone)]
pub(super) struct Runs {
    /// The only one, unless there are `many`.
    one: Run,
    many: Vec<Run>,
    /// All active lanes have the address of the only run, which names one lane.
    pub(super) uniform: bool,
}

impl Runs {
    /// The only run of a whole warp at addresses `bases[lane] + offset`, if they are consecutive or all the same.
    pub(super) fn whole<T: Copy + Into<u64>>(bases: &[T; 32], offset: u64, bytes: u32) -> Option<Runs> {
        let (first, last): (u64, u64) = (bases[0].into(), bases[31].into());
        let step = match last.wrapping_sub(first) {
            0 => 0,
            span if span == 31 * u64::from(bytes) => u64::from(bytes),
            _ => return None,
        };
        // Without early exits, so that the compiler vectorizes it.
        let mut gaps = 0;
        let mut expected = first;
        for &base in bases {
            gaps |= base.into() ^ expected;
            expected = expected.wrapping_add(step);
        }
        let uniform = step == 0;
        (gaps == 0).then(|| Runs {
            one: Run { address: first.wrapping_add(offset), lane: 0, lanes: if uniform { 1 } else { 32 } },
            many: Vec::new(),
            uniform,
        })
    }

    /// The runs of `bytes`-wide accesses by the active lanes, at least one.
    pub(super) fn of(addresses: &[u64; 32], active: u32, bytes: u32) -> Runs {
        if active == u32::MAX
            && let Some(runs) = Runs::whole(addresses, 0, bytes)
        {
            return runs;
        }
        let bytes = u64::from(bytes);
        let first = active.trailing_zeros() % 32;
        let mut one = Run { address: addresses[first as usize], lane: first, lanes: 1 };
        let mut many: Vec<Run> = Vec::new();
        let mut uniform = true;
        let mut rest = active & active.wrapping_sub(1);
        while rest != 0 {
            let lane = rest.trailing_zeros();
            rest &= rest - 1;
            let address = addresses[lane as usize];
            uniform &= address == addresses[first as usize];
            let last = many.last_mut().unwrap_or(&mut one);
            let end = last.address.wrapping_add(u64::from(last.lanes) * bytes);
            if lane == last.lane + last.lanes && address == end {
                last.lanes += 1;
            } else {
                if many.is_empty() {
                    many.reserve_exact(32);
                    many.push(one);
                }
                many.push(Run { address, lane, lanes: 1 });
            }
        }
        if uniform && active.count_ones() > 1 {
            one.lanes = 1;
            many.clear();
            return Runs { one, many, uniform: true };
        }
        Runs { one, many, uniform: false }
    }

    pub(super) fn as_slice(&self) -> &[Run] {
        if self.many.is_empty() { std::slice::from_ref(&self.one) } else { &self.many }
    }
}

/// Distinct sectors of 32 bytes, and the fewest that hold as many distinct bytes.
pub(super) fn sectors(runs: &[Run], bytes: u32) -> (u64, u64) {
    let bytes = u64::from(bytes);
    let span =
        |run: &Run| (run.address / 32, (run.address.wrapping_add(u64::from(run.lanes) * bytes - 1)) / 32);
    if let [run] = runs {
        let (first, last) = span(run);
        return (last.wrapping_sub(first) + 1, (u64::from(run.lanes) * bytes).div_ceil(32));
    }
    let mut sorted: [Run; 32] = [Run::default(); 32];
    let sorted = &mut sorted[..runs.len()];
    sorted.copy_from_slice(runs);
    if !sorted.is_sorted_by_key(|run| run.address) {
        sorted.sort_unstable_by_key(|run| run.address);
    }
    let (mut count, mut distinct) = (0, 0);
    let (mut next_sector, mut next_byte) = (0, 0);
    for run in &*sorted {
        let (first, last) = span(run);
        let end = run.address.wrapping_add(u64::from(run.lanes) * bytes);
        count += (last + 1).saturating_sub(first.max(next_sector));
        distinct += end.saturating_sub(run.address.max(next_byte));
        next_sector = next_sector.max(last + 1);
        next_byte = next_byte.max(end);
    }
    (count, distinct.div_ceil(32))
}

/// Wavefronts of a shared-memory access, and the fewest that hold as many distinct words.
///
/// Accesses of up to 4 bytes go as one warp, of 8 as two halves, of 16 as four quarters. In each part every bank serves
/// one word of 4 bytes per wavefront, to all lanes that want it.
pub(super) fn wavefronts(
    addresses: impl FnOnce() -> [u64; 32],
    active: u32,
    runs: &Runs,
    bytes: u32,
) -> (u64, u64) {
    if let [run] = runs.as_slice() {
        let one = (u64::from(run.lanes) * u64::from(bytes)).div_ceil(128).max(1);
        return (one, one);
    }
    let addresses = addresses();
    let lanes = (128 / bytes.max(4)).max(1) as usize;
    let (mut total, mut minimum) = (0, 0);
    for part in (0..32).step_by(lanes) {
        let mut banks = [0u64; 32];
        let mut words: [u64; 64] = [0; 64];
        let mut count = 0;
        for lane in (part..32.min(part + lanes)).filter(|lane| active >> lane & 1 == 1) {
            for word in addresses[lane] / 4..=(addresses[lane].wrapping_add(u64::from(bytes) - 1)) / 4 {
                if count < words.len() && !words[..count].contains(&word) {
                    words[count] = word;
                    count += 1;
                    banks[(word % 32) as usize] += 1;
                }
            }
        }
        total += banks.iter().copied().max().unwrap_or(0);
        minimum += (count as u64).div_ceil(32);
    }
    (total, minimum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(of: impl Fn(u64) -> u64) -> [u64; 32] {
        std::array::from_fn(|lane| of(lane as u64))
    }

    #[test]
    fn runs_follow_lanes_and_addresses() {
        let runs = Runs::of(&addresses(|l| 256 + 16 * l), u32::MAX, 16);
        assert_eq!(runs.as_slice(), [Run { address: 256, lane: 0, lanes: 32 }]);
        let runs = Runs::of(&addresses(|l| 256 + 4 * l), 0b1_1011, 4);
        assert_eq!(
            runs.as_slice(),
            [Run { address: 256, lane: 0, lanes: 2 }, Run { address: 268, lane: 3, lanes: 2 }]
        );
        assert!(Runs::of(&addresses(|_| 64), u32::MAX, 4).uniform);
        assert!(Runs::of(&addresses(|_| 64), 0b110, 4).uniform);
        assert_eq!(Runs::of(&addresses(|l| 8 * l), u32::MAX, 4).as_slice().len(), 32);
    }

    #[test]
    fn sectors_and_wavefronts() {
        let count = |of: &dyn Fn(u64) -> u64, bytes| {
            let all = addresses(of);
            let runs = Runs::of(&all, u32::MAX, bytes);
            (sectors(runs.as_slice(), bytes), wavefronts(|| all, u32::MAX, &runs, bytes))
        };
        assert_eq!(count(&|l| 4 * l, 4), ((4, 4), (1, 1)));
        assert_eq!(count(&|l| 16 + 4 * l, 4), ((5, 4), (1, 1)));
        assert_eq!(count(&|l| 16 * l, 16), ((16, 16), (4, 4)));
        assert_eq!(count(&|_| 64, 4), ((1, 1), (1, 1)));
        assert_eq!(count(&|l| 128 * l, 4), ((32, 4), (32, 1)));
        assert_eq!(count(&|l| 8 * l, 4), ((8, 4), (2, 1)));
        assert_eq!(count(&|l| 4 * (31 - l), 4), ((4, 4), (1, 1)));
        assert_eq!(count(&|l| 132 * l, 4), ((32, 4), (1, 1)));
    }
}
