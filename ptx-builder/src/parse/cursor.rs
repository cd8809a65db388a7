//! A position in the token list, with the questions that the grammar asks.

use super::lexer::{Kind, Token};
use super::{ParseError, Result1, malformed};
use crate::ir::Place;

pub(super) struct Cursor<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// `tokens` ends with an [`Kind::End`].
    pub(super) fn new(tokens: Vec<Token<'a>>) -> Cursor<'a> {
        Cursor { tokens, at: 0 }
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn peek_second(&self) -> Token<'a> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += usize::from(token.kind != Kind::End);
        token
    }

    pub(super) fn place(&self) -> Place {
        self.peek().place
    }

    pub(super) fn at_end(&self) -> bool {
        self.peek().kind == Kind::End
    }

    pub(super) fn is_punct(&self, text: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Punct && token.text == text
    }

    pub(super) fn is_dotted(&self, text: &str) -> bool {
        let token = self.peek();
        token.kind == Kind::Dotted && token.text == text
    }

    pub(super) fn take_punct(&mut self, text: &str) -> bool {
        let found = self.is_punct(text);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn take_dotted(&mut self, text: &str) -> bool {
        let found = self.is_dotted(text);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect_punct(&mut self, text: &str) -> Result1<()> {
        if self.take_punct(text) { Ok(()) } else { Err(self.expected(&format!("`{text}`"))) }
    }

    pub(super) fn expect_word(&mut self, what: &str) -> Result1<Token<'a>> {
        match self.peek().kind {
            Kind::Word => Ok(self.next()),
            Kind::Dotted | Kind::Number | Kind::Quoted | Kind::Punct | Kind::End => Err(self.expected(what)),
        }
    }

    pub(super) fn expect_dotted(&mut self, what: &str) -> Result1<Token<'a>> {
        match self.peek().kind {
            Kind::Dotted => Ok(self.next()),
            Kind::Word | Kind::Number | Kind::Quoted | Kind::Punct | Kind::End => Err(self.expected(what)),
        }
    }

    /// An unsigned integer below 2^32.
    pub(super) fn expect_u32(&mut self, what: &str) -> Result1<u32> {
        let token = self.peek();
        if token.kind != Kind::Number {
            return Err(self.expected(what));
        }
        self.next();
        let value = super::literal::integer(token.text).and_then(|value| u32::try_from(value).ok());
        value.ok_or_else(|| malformed(token.place, format!("`{}` is not {what}", token.text)))
    }

    /// The error that something else stands here.
    pub(super) fn expected(&self, what: &str) -> ParseError {
        let token = self.peek();
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            Kind::Dotted => format!("`.{}`", token.text),
            Kind::Quoted => format!("`\"{}\"`", token.text),
            Kind::Word | Kind::Number | Kind::Punct => format!("`{}`", token.text),
        };
        malformed(token.place, format!("expected {what}, found {found}"))
    }

    /// Goes behind the next semicolon, or to the closing brace or the end before it. A list in braces is part of the
    /// statement.
    pub(super) fn skip_statement(&mut self) {
        let mut in_list = false;
        while !self.at_end() && (in_list || !self.is_punct("}")) {
            let token = self.next();
            match (token.kind, token.text) {
                (Kind::Punct, ";") => return,
                (Kind::Punct, "{") => in_list = true,
                (Kind::Punct, "}") => in_list = false,
                _ => {}
            }
        }
    }

    /// Goes behind the next semicolon outside of braces, or behind the closing brace of the next block.
    pub(super) fn skip_declaration(&mut self) {
        let mut depth = 0usize;
        while !self.at_end() {
            let token = self.next();
            match (token.kind, token.text) {
                (Kind::Punct, "{") => depth += 1,
                (Kind::Punct, "}") => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                (Kind::Punct, ";") if depth == 0 => return,
                _ => {}
            }
        }
    }
}
