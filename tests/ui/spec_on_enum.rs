use ptxsmith_builder::lang::Spec;

#[derive(Spec)]
enum Mode {
    Fast,
}

fn main() {}
