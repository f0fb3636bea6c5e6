import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { alias, exclude, include, setupFiles } from './vitest.shared.js'

/** Tests that replace modules for all that is loaded after them. */
const withModulesOfTheirOwn = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(test|prop)\.ts$/u.test(name) && !name.includes('node_modules'))
  .map((name) => join('test', name))
  .filter((name) => /\bvi\.(mock|doMock|resetModules)\(/u.test(readFileSync(name, 'utf8')))

/**
 * What depends on the depth; test/setup/depth.ts has what that means. Each project has it of its
 * own: what a project takes from the root is read once more, in another mode.
 */
const depthOf = (mode: string) => ({
  // npm run test:deep
  provide: { isDeep: mode === 'deep' },
  // No test takes more than some seconds, deep ones a minute: the rest is for a machine that is
  // busy with other work.
  testTimeout: mode === 'deep' ? 1_200_000 : 180_000,
  hookTimeout: 180_000,
})

export default defineConfig(({ mode }) => ({
  resolve: { alias },
  test: {
    // of two cores one would be left to the reporter
    maxWorkers: '100%',
    reporters: ['default', './scripts/summary-reporter.mjs'],
    projects: [
      {
        extends: true,
        test: {
          name: 'shared modules',
          ...depthOf(mode),
          include,
          exclude: [...exclude, ...withModulesOfTheirOwn],
          setupFiles,
          // loading the sources for each file anew takes as long as the tests; no module of theirs
          // keeps anything, which test/architecture/no-io.test.ts sees to
          isolate: false,
          typecheck: {
            enabled: true,
            checker: './node_modules/typescript-7/bin/tsc',
            include: ['test/**/*.test-d.ts'],
            exclude,
            tsconfig: './tsconfig.types.json',
          },
        },
      },
      {
        extends: true,
        test: {
          name: 'own modules',
          ...depthOf(mode),
          include: withModulesOfTheirOwn,
          exclude,
          setupFiles,
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'html', 'lcovonly'],
    },
  },
}))
