import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const folder = fileURLToPath(new URL('../../.github/', import.meta.url))
const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const workflows = readdirSync(`${folder}workflows`)
const read = (name: string) => parse(readFileSync(folder + name, 'utf8'))

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: { readonly [name: string]: unknown }
}
const jobsOf = (name: string) =>
  Object.values<{ permissions?: object; steps: readonly Step[]; 'timeout-minutes'?: number }>(
    read(`workflows/${name}`).jobs,
  )

describe.each(workflows)('the workflow %s', (name) => {
  const steps = jobsOf(name).flatMap((job) => job.steps)

  test('names each action by its commit', () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/@[0-9a-f]{40}$/)
    expect(steps.some(({ uses }) => uses !== undefined)).toBe(true)
  })

  test('has no rights but those that a job names, and a time at which it ends', () => {
    expect(read(`workflows/${name}`).permissions).toEqual({})
    for (const job of jobsOf(name)) {
      expect(job.permissions).toBeDefined()
      expect(job['timeout-minutes']).toBeGreaterThan(0)
    }
  })

  test('runs scripts that exist', () => {
    for (const { run = '' } of steps) {
      const [, script] = /npm run (\S+)/.exec(run) ?? []
      if (script !== undefined) expect(scripts).toHaveProperty([script])
    }
  })
})

test('only the release may ask for an identity, and it publishes what was checked', () => {
  const withIdentity = workflows.filter((name) => jobsOf(name).some((job) => 'id-token' in (job.permissions ?? {})))
  expect(withIdentity).toEqual(['release.yml'])
  const runs = jobsOf('release.yml').flatMap((job) => job.steps.map(({ run }) => run))
  expect(runs.indexOf('npm run check')).toBeGreaterThan(0)
  expect(runs.indexOf('npm publish')).toBeGreaterThan(runs.indexOf('npm run check'))
})

test('templates and dependabot are YAML', () => {
  expect(read('dependabot.yml')).toMatchObject({ version: 2 })
  for (const name of ['bug', 'feature']) {
    const { body } = read(`ISSUE_TEMPLATE/${name}.yml`)
    expect(new Set(body.map(({ type }: { type: string }) => type))).toContain('textarea')
  }
})
