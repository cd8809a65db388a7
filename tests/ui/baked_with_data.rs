use ptxsmith_builder::lang::Baked;

#[derive(Baked)]
enum Mode {
    Exact,
    Fast(u32),
}

fn main() {}
