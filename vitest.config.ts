import { defineConfig } from 'vitest/config'
import { alias, exclude, include, setupFiles } from './vitest.shared.js'

export default defineConfig({
  resolve: { alias },
  test: {
    include,
    exclude,
    setupFiles,
    testTimeout: 30_000,
    // of two cores one would be left to the reporter
    maxWorkers: '100%',
    typecheck: {
      enabled: true,
      include: ['test/**/*.test-d.ts'],
      exclude,
      tsconfig: './tsconfig.json',
    },
    reporters: ['default', './scripts/summary-reporter.mjs'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html', 'lcovonly'],
    },
  },
})
