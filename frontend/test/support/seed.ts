import fc from 'fast-check'

// fast-check uses a fixed seed, so that a failed run fails again. A soak uses a random seed. fast-check prints the
// seed of a failed property, and ABIDE_SOAK_SEED sets it.
const given = process.env['ABIDE_SOAK_SEED']
if (given !== undefined) fc.configureGlobal({ seed: Number(given) })
else if (process.env['ABIDE_SOAK'] === undefined) fc.configureGlobal({ seed: 1 })
