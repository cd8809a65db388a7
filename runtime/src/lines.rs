//! From a line of a kernel's text back to the author's line.
//!
//! The printer writes every instruction and every terminator on a line of its own, in the order of the module; all other
//! lines of a body are declarations, labels, comments and braces. So a line's place follows from counting.

use ptxsmith_builder::ir::{Module, Place, Terminator};

/// The author's place of each line of the text of `module`; unknown for lines that are no instruction.
pub(crate) fn line_places(module: &Module, text: &str) -> Vec<Place> {
    let mut places = module.entries.iter().flat_map(|entry| {
        entry.blocks.iter().flat_map(|block| {
            let end = (block.term != Terminator::Fall).then_some(block.term_place);
            block.insts.iter().map(|inst| inst.place).chain(end)
        })
    });
    let mut inside = false;
    let mut of = |line: &str| {
        match line {
            "{" => inside = true,
            "}" => inside = false,
            _ => {}
        }
        let code = line.trim_start();
        let other =
            ["{", "}", "//", ".reg", ".shared", ".local", ".loc"].iter().any(|start| code.starts_with(start));
        let instruction = inside && !other && !code.is_empty() && !code.ends_with(':');
        if instruction { places.next().unwrap_or_default() } else { Place::default() }
    };
    text.lines().map(&mut of).collect()
}

/// The first line of a text, counted from 1, that the compiler's log names: `line 7; error` or `line 7, error`.
pub(crate) fn line_in_log(log: &str) -> Option<usize> {
    log.split("line ").skip(1).find_map(|rest| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok().filter(|&line| line > 0)
    })
}

/// The author's place of the line that the compiler's log names, if there is one.
pub(crate) fn place_in_log(module: &Module, text: &str, log: &str) -> Option<Place> {
    let line = line_in_log(log)?;
    let place = line_places(module, text).into_iter().nth(line - 1)?;
    place.is_known().then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;
    use ptxsmith_builder::kernel::AnyKernel;
    use ptxsmith_builder::print::{show_inst, show_terminator};
    use ptxsmith_builder::target::Target;
    use ptxsmith_builder::types::Dtype;

    #[test]
    fn every_instruction_has_its_line_and_nothing_else_has_a_place() {
        let target = Target::sm(90).expect("a known target");
        let kernel = Scale::new(96, 2.0, Dtype::F32, Dtype::Bf16);
        let operation = kernel.operation(target).expect("a valid kernel");
        let module = operation.module.module();
        let text = operation.text();
        let places = line_places(module, &text);
        let with_place: Vec<(&str, Place)> =
            text.lines().map(str::trim).zip(places).filter(|(_, place)| place.is_known()).collect();
        let expected: Vec<(String, Place)> = module.entries[0]
            .blocks
            .iter()
            .flat_map(|block| {
                let entry = &module.entries[0];
                let end = show_terminator(entry, &block.term).map(|text| (text, block.term_place));
                block.insts.iter().map(|inst| (show_inst(entry, inst), inst.place)).chain(end)
            })
            .filter(|(_, place)| place.is_known())
            .collect();
        assert!(expected.len() > 5);
        assert_eq!(with_place.len(), expected.len());
        for ((line, place), (code, author)) in with_place.iter().zip(&expected) {
            assert_eq!(line, code);
            assert_eq!((place.file, place.line), (author.file, author.line), "{line}");
        }
    }

    #[test]
    fn logs_name_lines() {
        let log = "ptxas application ptx input, line 12; error   : Arguments mismatch\nline 3; fatal";
        assert_eq!(line_in_log(log), Some(12));
        assert_eq!(line_in_log("ptxas fatal : the line is missing"), None);
        assert_eq!(line_in_log(""), None);
    }

    #[test]
    fn the_place_of_a_logged_line_is_the_authors() {
        let target = Target::sm(90).expect("a known target");
        let operation =
            Scale::new(32, 2.0, Dtype::F32, Dtype::F32).operation(target).expect("a valid kernel");
        let text = operation.text();
        let line = text.lines().position(|line| line.contains("mul.")).expect("a multiplication") + 1;
        let log = format!("ptxas application ptx input, line {line}; error : wrong");
        let place = place_in_log(operation.module.module(), &text, &log).expect("a place");
        assert!(place.file.ends_with("scale.rs"), "{place}");
        assert!(place_in_log(operation.module.module(), &text, "line 1; error").is_none());
        assert!(place_in_log(operation.module.module(), &text, "line 999; error").is_none());
    }
}
