use ptxsmith_builder::lang::device;

#[device(inline)]
fn half(x: f32) -> f32 {
    x * 0.5
}

fn main() {}
