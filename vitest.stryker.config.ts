import { defineConfig } from 'vitest/config'
import { alias, exclude, include, setupFiles } from './vitest.shared.js'

// For mutation testing: no type tests, and no architecture tests (they read the tree, not the
// mutant).
// The seed is fixed: the title of a `test.prop` carries it, and Stryker finds a test again by its title.
export default defineConfig({
  resolve: { alias },
  test: {
    include,
    exclude: [...exclude, 'test/architecture/**'],
    setupFiles,
    provide: { isDeep: false },
    testTimeout: 30_000,
    env: { FC_SEED: '42', FC_NUM_RUNS: process.env.FC_NUM_RUNS ?? '50' },
  },
})
