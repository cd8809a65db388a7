//! The sum of each long row by a cluster of four blocks, which meet in the shared memory of the first (compute
//! capability 9.0 and newer).
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use ptxsmith_builder::lang::{
    Global, GlobalMut, Shared, block_idx_x, block_sum, cluster_rank, cluster_sync, kernel, thread_idx_x,
};
use ptxsmith_builder::types::Dtype;
use ptxsmith_examples::{Ran, check, decode, device, numbers, upload};
use ptxsmith_runtime::Device;

/// Threads of a block.
const BLOCK: u32 = 128;
/// Blocks of a cluster.
const CLUSTER: u32 = 4;

/// y\[r\] = the sum of row r of x.
#[kernel(block = BLOCK, grid = rows * CLUSTER, cluster = CLUSTER)]
pub fn cluster_sum(
    #[baked] columns: u32,
    #[size(max = 0x1fff_ffff)] rows: u32,
    #[buffer(dtype = Dtype::F32, len = rows * columns)] x: Global,
    #[buffer(dtype = Dtype::F32, len = rows)] y: GlobalMut,
) {
    let row = block_idx_x() / CLUSTER;
    let x = x.row(row, columns);
    let sums = Shared::<f32>::new("sums", CLUSTER);
    let mut sum = 0.0f32;
    for i in (cluster_rank() * BLOCK + thread_idx_x()..columns).step_by(CLUSTER * BLOCK) {
        sum += x[i];
    }
    let own = block_sum(sum, BLOCK);
    if thread_idx_x() == 0 {
        sums.at(cluster_rank()).in_block(0u32).store(own);
    }
    // After this every block's sum is in block 0, and no block still writes to it.
    cluster_sync();
    if cluster_rank() == 0 && thread_idx_x() == 0 {
        y[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

fn run(device: &Device, columns: u32, rows: u32) -> Ran<f64> {
    let (x, held) = upload(device, "x", &numbers((rows * columns) as usize, 10), Dtype::F32)?;
    let mut y = device.alloc("y", rows as usize * 4)?;
    let args = ClusterSumArgs { x: x.read(Dtype::F32), y: y.write(Dtype::F32) };
    let outcome = device.prepare(&ClusterSum::new(columns))?.run(args, ClusterSumShape { rows })?;
    let got = decode(&device.download(&y)?, Dtype::F32)?;
    let expected: Vec<f64> =
        held.chunks(columns as usize).map(|row| row.iter().map(|x| f64::from(*x)).sum()).collect();
    check(&outcome, &got, &expected, 1e-4)
}

fn main() -> Ran {
    let device = device()?;
    println!("{}: largest error {:.1e}", device.name(), run(&device, 100_000, 3)?);
    Ok(())
}

#[test]
fn needs_clusters() -> Ran {
    use ptxsmith_builder::kernel::AnyKernel;
    let operation = ClusterSum::new(5000).operation("sm_90".parse()?)?;
    assert_eq!(operation.steps[0].geometry.cluster, CLUSTER);
    let text = operation.text();
    assert!(text.contains("mapa.shared::cluster.u32") && text.contains("barrier.cluster.wait"), "{text}");
    let error = ClusterSum::new(5000).operation("sm_80".parse()?).err().ok_or("sm_80 has no clusters")?;
    assert!(error.to_string().contains("sm_90"), "{error}");
    Ok(())
}
