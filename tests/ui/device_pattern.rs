use ptxsmith_builder::lang::device;

#[device]
fn sum((a, b): (f32, f32)) -> f32 {
    a + b
}

fn main() {}
