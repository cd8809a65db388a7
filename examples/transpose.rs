//! The transpose of a matrix through shared memory: loads and stores both touch whole rows of a tile.
#![expect(clippy::print_stdout, reason = "a program for a person at a terminal")]

use ptxsmith_builder::lang::{
    Global, GlobalMut, Shared, block_idx_x, kernel, sync_threads, thread_idx_x, thread_idx_y,
};
use ptxsmith_builder::types::Dtype;
use ptxsmith_examples::{Ran, check, decode, device, numbers, upload};
use ptxsmith_runtime::Device;

/// Elements of a side of a tile.
const TILE: u32 = 32;
/// Rows that a block moves at once.
const ROWS: u32 = 8;
/// Elements between the rows of a tile in shared memory: one more, so that a column lies in 32 banks.
const PITCH: u32 = TILE + 1;

/// y = xᵀ; x has `rows` rows of `columns` elements.
#[kernel(block = (TILE, ROWS), grid = rows.ceil_div(TILE) * columns.div_ceil(TILE))]
pub fn transpose(
    #[baked] columns: u32,
    #[baked] dtype: Dtype,
    #[size(max = 0xf_ffff)] rows: u32,
    #[buffer(dtype = dtype, len = rows * columns)] x: Global,
    #[buffer(dtype = dtype, len = rows * columns)] y: GlobalMut,
) {
    let tile = Shared::<f32>::new("tile", TILE * PITCH);
    let across = columns.div_ceil(TILE);
    let (tile_row, tile_column) = (block_idx_x() / across, block_idx_x() % across);
    let (tx, ty) = (thread_idx_x(), thread_idx_y());

    for step in 0..TILE / ROWS {
        let row = tile_row * TILE + ty + step * ROWS;
        let column = tile_column * TILE + tx;
        if row < rows && column < columns {
            tile[(ty + step * ROWS) * PITCH + tx] = x.row(row, columns)[column];
        }
    }
    sync_threads();
    for step in 0..TILE / ROWS {
        let row = tile_column * TILE + ty + step * ROWS;
        let column = tile_row * TILE + tx;
        if row < columns && column < rows {
            y[row * rows + column] = tile[tx * PITCH + ty + step * ROWS];
        }
    }
}

fn run(device: &Device, columns: u32, rows: u32, dtype: Dtype) -> Ran<f64> {
    let (x, held) = upload(device, "x", &numbers((rows * columns) as usize, 7), dtype)?;
    let mut y = device.alloc("y", held.len() * dtype.bytes() as usize)?;
    let args = TransposeArgs { x: x.read(dtype), y: y.write(dtype) };
    let outcome = device.prepare(&Transpose::new(columns, dtype))?.run(args, TransposeShape { rows })?;
    let got = decode(&device.download(&y)?, dtype)?;
    let at = |row: u32, column: u32| f64::from(held[(row * columns + column) as usize]);
    let expected: Vec<f64> = (0..columns)
        .flat_map(|column| (0..rows).map(move |row| (row, column)))
        .map(|(row, column)| at(row, column))
        .collect();
    check(&outcome, &got, &expected, 0.0)
}

fn main() -> Ran {
    let device = device()?;
    run(&device, 100, 300, Dtype::F32)?;
    println!("{}: every element is in its place", device.name());
    Ok(())
}

#[test]
fn every_element_is_in_its_place() -> Ran {
    let device = ptxsmith_examples::emulator()?;
    for (columns, rows, dtype) in [(1, 1, Dtype::F32), (33, 31, Dtype::F16), (64, 100, Dtype::Bf16)] {
        run(&device, columns, rows, dtype)?;
    }
    Ok(())
}
