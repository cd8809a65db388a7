//! The kernel language's library: what `#[kernel]` bodies call, and what the macro's expansion is made of.
