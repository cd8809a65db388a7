use ptxsmith_builder::lang::Spec;

#[derive(Spec)]
struct Norm {
    /// elements of a row
    hidden: u32,
    eps: f32,
}

fn main() {}
