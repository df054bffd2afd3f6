import fc from 'fast-check'

// A fixed sample: a red run is red again. A soak draws anew; fast-check prints its seed where a property fails, and
// ABIDE_SOAK_SEED repeats it.
const given = process.env['ABIDE_SOAK_SEED']
if (given !== undefined) fc.configureGlobal({ seed: Number(given) })
else if (process.env['ABIDE_SOAK'] === undefined) fc.configureGlobal({ seed: 1 })
