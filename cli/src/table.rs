//! Tables of text for people.

/// The lines of a table: every column as wide as its widest cell, two spaces between columns, none at the end of a line.
pub(crate) fn lines<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..N).map(width).collect();
    rows.iter()
        .map(|row| {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "b".to_owned()], ["ccc".to_owned(), String::new()]];
        assert_eq!(lines(&rows), ["a    b", "ccc"]);
    }
}
