use ptxsmith_builder::lang::device;

#[device]
fn half(x: f32, i: u32) -> f32 {
    if x < 0.0 {
        return x;
    }
    i
}

fn main() {}
