//! Which of several position axes each pair follows: multi-axis rotary embedding (mRoPE of the Qwen2-VL and Qwen3-VL families).
//!
//! Every pair belongs to one axis; axis 0 is time, 1 height, 2 width where there are three. A token then has one position for
//! each axis.

/// The most axes that a map may have.
pub const MAX_AXES: usize = 8;

/// The axis of every pair.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AxisMap {
    axes: Vec<u8>,
    count: usize,
}

/// Sections that do not describe a map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// No section, or too many.
    #[error("{found} sections; there must be 1 to {MAX_AXES}")]
    Count {
        /// The number of sections.
        found: usize,
    },
    /// Sections that cover more or fewer pairs than there are.
    #[error("the sections cover {found} pairs, but a rotary width of {width} has {expected}")]
    Sum {
        /// Pairs covered.
        found: u64,
        /// The rotary width.
        width: u32,
        /// Its number of pairs.
        expected: u32,
    },
    /// Interleaving is defined for three axes.
    #[error("interleaved sections need 3 axes, not {found}")]
    Interleaved {
        /// The number of sections.
        found: usize,
    },
    /// A list entry that is no axis.
    #[error("pair {pair} follows axis {axis}; there are {MAX_AXES} at most")]
    Axis {
        /// The pair.
        pair: usize,
        /// Its axis.
        axis: u8,
    },
}

impl AxisMap {
    /// Contiguous sections: the first `sections[0]` pairs follow axis 0, the next `sections[1]` axis 1, and so on (Qwen2-VL,
    /// GLM-4V).
    ///
    /// # Errors
    ///
    /// If the sections do not cover the `width / 2` pairs exactly.
    pub fn contiguous(sections: &[u32], width: u32) -> Result<AxisMap, AxisError> {
        check_sections(sections, width)?;
        let axes = sections.iter().zip(0u8..).flat_map(|(&n, axis)| std::iter::repeat_n(axis, n as usize));
        Ok(AxisMap { axes: axes.collect(), count: sections.len() })
    }

    /// Interleaved sections (Qwen3-VL): pair `j` follows axis 1 if `j mod 3 = 1` and `j < 3 sections[1]`, axis 2 if
    /// `j mod 3 = 2` and `j < 3 sections[2]`, else axis 0.
    ///
    /// # Errors
    ///
    /// If there are not three sections, or they do not cover the `width / 2` pairs exactly.
    pub fn interleaved(sections: &[u32], width: u32) -> Result<AxisMap, AxisError> {
        check_sections(sections, width)?;
        let &[_, height, wide] = sections else {
            return Err(AxisError::Interleaved { found: sections.len() });
        };
        let axis = |j: u32| match j % 3 {
            1 if j / 3 < height => 1,
            2 if j / 3 < wide => 2,
            _ => 0,
        };
        Ok(AxisMap { axes: (0..width / 2).map(axis).collect(), count: 3 })
    }

    /// A map given pair by pair, for the arrangements of other models.
    ///
    /// # Errors
    ///
    /// If there is no pair or an axis number is [`MAX_AXES`] or more.
    pub fn from_axes(axes: Vec<u8>) -> Result<AxisMap, AxisError> {
        if let Some((pair, &axis)) = axes.iter().enumerate().find(|&(_, &axis)| usize::from(axis) >= MAX_AXES)
        {
            return Err(AxisError::Axis { pair, axis });
        }
        match axes.iter().max() {
            Some(&last) => Ok(AxisMap { count: usize::from(last) + 1, axes }),
            None => Err(AxisError::Count { found: 0 }),
        }
    }

    /// The axis of every pair.
    pub fn axes(&self) -> &[u8] {
        &self.axes
    }

    /// The number of axes, and so of positions a token has.
    pub fn count(&self) -> usize {
        self.count
    }
}

fn check_sections(sections: &[u32], width: u32) -> Result<(), AxisError> {
    if !(1..=MAX_AXES).contains(&sections.len()) {
        return Err(AxisError::Count { found: sections.len() });
    }
    let found = sections.iter().map(|&n| u64::from(n)).sum();
    let expected = width / 2;
    if found == u64::from(expected) { Ok(()) } else { Err(AxisError::Sum { found, width, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_sections_follow_each_other() {
        let map = AxisMap::contiguous(&[2, 1, 1], 8).unwrap();
        assert_eq!((map.axes(), map.count()), ([0, 0, 1, 2].as_slice(), 3));
    }

    #[test]
    fn interleaved_sections_end_on_time() {
        // Qwen3-VL's [24, 20, 20]: thirds until pair 60, then time alone.
        let map = AxisMap::interleaved(&[24, 20, 20], 128).unwrap();
        let count = |axis| map.axes().iter().filter(|&&a| a == axis).count();
        assert_eq!([count(0), count(1), count(2)], [24, 20, 20]);
        assert_eq!(map.axes()[..4], [0, 1, 2, 0]);
        assert_eq!(map.axes()[59..], [2, 0, 0, 0, 0]);
    }

    #[test]
    fn maps_pair_by_pair_keep_their_axes() {
        let map = AxisMap::from_axes(vec![1, 3, 1, 0]).unwrap();
        assert_eq!((map.axes(), map.count()), ([1, 3, 1, 0].as_slice(), 4));
        assert_eq!(AxisMap::from_axes(vec![0, 8]), Err(AxisError::Axis { pair: 1, axis: 8 }));
        assert_eq!(AxisMap::from_axes(vec![]), Err(AxisError::Count { found: 0 }));
    }

    #[test]
    fn sections_that_do_not_fit_are_refused() {
        assert_eq!(
            AxisMap::contiguous(&[16, 24, 23], 128),
            Err(AxisError::Sum { found: 63, width: 128, expected: 64 })
        );
        assert_eq!(
            AxisMap::contiguous(&[u32::MAX, u32::MAX], 4).unwrap_err().to_string(),
            "the sections cover 8589934590 pairs, but a rotary width of 4 has 2"
        );
        assert_eq!(AxisMap::interleaved(&[32, 32], 128), Err(AxisError::Interleaved { found: 2 }));
        assert_eq!(AxisMap::contiguous(&[], 0), Err(AxisError::Count { found: 0 }));
    }
}
