//! The lexer: text to tokens with places; comments and white space separate.
//!
//! A name with modifiers is several tokens: `ld.global.v4` is the word `ld` and the dotted words `.global`, `.v4`. Two colons
//! belong to the word around them (`.shared::cta`), one ends a label.

use super::{ParseError, malformed};
use crate::ir::Place;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `ld`, `%r1`, `$L1`, `_`.
    Word,
    /// `.global`; the text is without the dot.
    Dotted,
    /// `12`, `0x1F`, `0f3F800000`, `1.5e-3`, `7.0`.
    Number,
    /// `"…"`; the text is without the quotes.
    Quoted,
    /// One character.
    Punct,
    /// Behind the last token.
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) place: Place,
    /// Nothing stands between this token and the one before.
    pub(super) glued: bool,
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    column: u32,
}

/// The tokens of a text, `End` last.
pub(super) fn lex(text: &str) -> (Vec<Token<'_>>, Vec<ParseError>) {
    let mut lexer = Lexer { text, at: 0, line: 1, column: 1 };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    let mut errors = Vec::new();
    loop {
        let end_of_last = lexer.at;
        if let Err(error) = lexer.skip_space() {
            errors.push(error);
        }
        let (start, place) = (lexer.at, lexer.place());
        let Some(first) = lexer.peek() else {
            tokens.push(Token { kind: Kind::End, text: "", place, glued: false });
            return (tokens, errors);
        };
        let glued = start == end_of_last && start > 0;
        let kind = match first {
            '"' => {
                lexer.bump();
                lexer.take_while(|c| c != '"' && c != '\n');
                let inner = &text[start + 1..lexer.at];
                if lexer.peek() == Some('"') {
                    lexer.bump();
                } else {
                    errors.push(malformed(place, "the string has no closing quote"));
                }
                tokens.push(Token { kind: Kind::Quoted, text: inner, place, glued });
                continue;
            }
            '.' if lexer.peek_second().is_some_and(is_word) => {
                lexer.bump();
                lexer.word();
                tokens.push(Token { kind: Kind::Dotted, text: &text[start + 1..lexer.at], place, glued });
                continue;
            }
            c if c.is_ascii_digit() => {
                lexer.number();
                Kind::Number
            }
            c if is_word(c) => {
                lexer.word();
                Kind::Word
            }
            c if c.is_ascii_punctuation() => {
                lexer.bump();
                Kind::Punct
            }
            c => {
                lexer.bump();
                errors.push(malformed(
                    place,
                    format!("the character `{}` does not occur in PTX", c.escape_default()),
                ));
                continue;
            }
        };
        tokens.push(Token { kind, text: &text[start..lexer.at], place, glued });
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

impl Lexer<'_> {
    fn place(&self) -> Place {
        Place { file: "", line: self.line, column: self.column }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().chars().nth(1)
    }

    fn bump(&mut self) {
        if let Some(c) = self.peek() {
            self.at += c.len_utf8();
            if c == '\n' {
                (self.line, self.column) = (self.line.saturating_add(1), 1);
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.bump();
        }
    }

    fn word(&mut self) {
        loop {
            self.take_while(is_word);
            let mut ahead = self.rest().chars();
            if (ahead.next(), ahead.next()) != (Some(':'), Some(':')) || !ahead.next().is_some_and(is_word) {
                return;
            }
            self.bump();
            self.bump();
        }
    }

    /// Digits and letters, a fraction, a signed exponent. What it means is decided where its type is known.
    fn number(&mut self) {
        let start = self.at;
        self.take_while(is_word);
        // Only a decimal literal has a fraction or a signed exponent.
        let is_decimal = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if is_decimal(&self.text[start..self.at])
            && self.peek() == Some('.')
            && self.peek_second().is_some_and(|c| c.is_ascii_digit())
        {
            self.bump();
            self.take_while(is_word);
        }
        let so_far = &self.text[start..self.at];
        let mantissa = so_far.strip_suffix(['e', 'E']);
        let is_mantissa =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if mantissa.is_some_and(is_mantissa)
            && matches!(self.peek(), Some('+' | '-'))
            && self.peek_second().is_some_and(|c| c.is_ascii_digit())
        {
            self.bump();
            self.take_while(|c| c.is_ascii_digit());
        }
    }

    fn skip_space(&mut self) -> Result<(), ParseError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                let place = self.place();
                self.bump();
                self.bump();
                while !self.rest().starts_with("*/") {
                    if self.peek().is_none() {
                        return Err(malformed(place, "the comment has no end"));
                    }
                    self.bump();
                }
                self.bump();
                self.bump();
            } else {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        lex(text).0.iter().map(|token| token.text).collect()
    }

    #[test]
    fn splits_names_numbers_and_labels() {
        assert_eq!(
            texts("ld.shared::cta.u32 %r,[%a+-4];"),
            ["ld", "shared::cta", "u32", "%r", ",", "[", "%a", "+", "-", "4", "]", ";", ""]
        );
        assert_eq!(texts("L:bra L;"), ["L", ":", "bra", "L", ";", ""]);
        assert_eq!(
            texts("1.5e-3 0f3F800000 7.0 0x1F %tid.x"),
            ["1.5e-3", "0f3F800000", "7.0", "0x1F", "%tid", "x", ""]
        );
        assert_eq!(texts("0xe+1"), ["0xe", "+", "1", ""]);
    }

    #[test]
    fn comments_separate_and_places_count_characters() {
        let (tokens, errors) = lex("a/* ü\n */b // c\n  d");
        assert!(errors.is_empty());
        let places: Vec<_> =
            tokens.iter().map(|token| (token.text, token.place.line, token.place.column)).collect();
        assert_eq!(places, [("a", 1, 1), ("b", 2, 4), ("d", 3, 3), ("", 3, 4)]);
        assert!(!tokens[1].glued);
    }

    #[test]
    fn reports_open_comments_strings_and_foreign_characters() {
        assert_eq!(lex("/* never").1.len(), 1);
        assert_eq!(lex("\"open\nret;").1.len(), 1);
        assert_eq!(lex("ret ä;").1[0].place.column, 5);
    }
}
