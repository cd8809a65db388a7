use ptxsmith_builder::lang::device;

#[device]
async fn half(x: f32) -> f32 {
    x * 0.5
}

fn main() {}
