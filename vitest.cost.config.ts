import { defineConfig } from 'vitest/config'
import { alias, exclude, setupFiles } from './vitest.shared.js'

// npm run test:cost: tests that measure memory and time. One file after the other, each in a
// process of its own, on a machine that does nothing else: that is why they are no part of
// `npm test`.
export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/**/*.cost.ts'],
    exclude,
    setupFiles,
    provide: { isDeep: true },
    pool: 'forks',
    execArgv: ['--expose-gc'],
    fileParallelism: false,
    testTimeout: 120_000,
    reporters: ['default', './scripts/summary-reporter.mjs'],
  },
})
