import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const CI = fileURLToPath(new URL('../../.ci/', import.meta.url))
const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

function bash(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('bash', args, { encoding: 'utf8' })
  return { status, lines: stdout.trimEnd().split('\n'), stderr }
}

/** Steps as .ci/run and .ci/full have them. */
function withSteps(script: string) {
  return bash('-c', `source "$0/steps.sh"\n${script}`, CI)
}

const BAD = 'bad() { false; echo not reached; }'

describe('steps', () => {
  test('the first that fails ends .ci/run, with its status and a table', () => {
    const { status, lines } = withSteps(`${BAD}\nstep one true\nstep two bad\nstep three true`)
    expect(status).toBe(1)
    expect(lines.filter((line) => /^(ok|FAILED) /.test(line))).toEqual([
      expect.stringMatching(/^ok +\d+s +\d+s {2}one$/),
      expect.stringMatching(/^FAILED +\d+s +\d+s {2}two \(exit 1\)$/),
    ])
    expect(lines).not.toContain('not reached')
  })

  test('where none ends it all, later ones are done, and failures are counted', () => {
    const { status, lines } = withSteps(`${BAD}\nstops=no\nstep one bad\nstep two echo done\nexit "$failed"`)
    expect(status).toBe(1)
    expect(lines).toContain('done')
  })

  test('only those that are wanted are done', () => {
    const { lines } = withSteps('wanted=(two)\nstep one echo first\nstep two echo second')
    expect(lines.filter((line) => /^(first|second)$/.test(line))).toEqual(['second'])
  })

  test('steps beside each other are all done, and what each says is printed; the first failure ends .ci/run', () => {
    const { status, lines } = withSteps("beside 'one=echo first' 'two=false' 'three=echo third'\nstep four true")
    expect(status).toBe(1)
    expect(lines.filter((line) => /^(first|third)$/.test(line))).toEqual(['first', 'third'])
    expect(lines.filter((line) => /^(ok|FAILED) /.test(line))).toEqual([
      expect.stringMatching(/^ok +\d+s +\d+s {2}one$/),
      expect.stringMatching(/^FAILED +\d+s +\d+s {2}two \(exit 1\)$/),
      expect.stringMatching(/^ok +\d+s +\d+s {2}three$/),
    ])
  })

  test('of those beside each other only the wanted ones are done', () => {
    const { lines } = withSteps("wanted=(two)\nbeside 'one=echo first' 'two=echo second'")
    expect(lines.filter((line) => /^(first|second)$/.test(line))).toEqual(['second'])
  })

  test('a step has no standard input', () => {
    expect(withSteps('step one cat').status).toBe(0)
  })
})

describe('.ci/full', () => {
  const names = (text: string) =>
    [...text.matchAll(/^ *(?:for .*)?(?:step|apart) ([a-z][a-z0-9-]*) |'([a-z][a-z0-9-]*)=/gm)].map(
      ([, alone, beside]) => alone ?? beside,
    )

  test('lists its steps, each name once, and among them all of .ci/run', () => {
    const { status, lines } = bash(`${CI}full`, '--list')
    expect(status).toBe(0)
    const listed = lines.map((line) => line.split(' ')[0])
    expect(new Set(listed).size).toBe(listed.length)
    const ofRun = names(readFileSync(`${CI}run`, 'utf8'))
    expect(ofRun.length).toBeGreaterThan(5)
    expect(ofRun.filter((name) => !listed.includes(name))).toEqual([])
  })

  test('does not know a step of another name', () => {
    const { status, stderr } = bash(`${CI}full`, 'lint', 'nope')
    expect([status, stderr]).toEqual([2, 'no step nope: .ci/full --list names them\n'])
  })
})

test('every script of npm that is named in .ci exists', () => {
  const text = ['run', 'full', 'steps.sh'].map((file) => readFileSync(`${CI}${file}`, 'utf8')).join('\n')
  const named = [...text.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
})
