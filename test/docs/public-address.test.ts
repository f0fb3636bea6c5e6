import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

// The addresses of the project are fields of package.json, and stand nowhere else: "Releases" in
// CONTRIBUTING.md says how they are filled in.

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Addresses with the name of the package in them: of a host, a user or a path. */
function addressesIn(text: string): string[] {
  const address =
    /(?:\b(?:https?|git(?:\+\w+)?|ssh):\/\/|\bgit@|\b(?:github|gitlab|bitbucket):|\bwww\.)[^\s"'`<>)\]]+/gi
  const hosted = /\b(?:github|gitlab|bitbucket|codeberg|npmjs|jsr|unpkg|jsdelivr)\.\w+\/[^\s"'`<>)\]]+/gi
  return [...(text.match(address) ?? []), ...(text.match(hosted) ?? [])].filter((found) => /ipam-kit/i.test(found))
}

function trackedFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  return listed.split('\0').filter((name) => name !== '' && !name.endsWith('.png') && name !== 'package-lock.json')
}

const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const { repository, homepage, bugs, ...others } = manifest

test('no file but package.json names an address of the project', () => {
  const found = trackedFiles()
    .filter((name) => name !== 'package.json' && name !== 'test/docs/public-address.test.ts')
    .flatMap((name) => addressesIn(readFileSync(root + name, 'utf8')).map((address) => `${name}: ${address}`))
  expect(found).toEqual([])
})

test('package.json names one in repository, homepage and bugs, or in none of them', () => {
  expect(addressesIn(JSON.stringify(others))).toEqual([])
  const filled = [repository, homepage, bugs].filter((field) => field !== undefined)
  expect([0, 3]).toContain(filled.length)
})

test('CONTRIBUTING.md names the fields', () => {
  const text = readFileSync(`${root}CONTRIBUTING.md`, 'utf8')
  for (const field of ['repository', 'homepage', 'bugs']) expect(text).toContain(`\`${field}\``)
})

describe('an address is found', () => {
  test.each([
    'see https://example.com/some/ipam-kit#readme',
    'https://ipam-kit.example/docs',
    'git@example.com:some/ipam-kit.git',
    'github:some/ipam-kit',
    'github.com/some/ipam-kit/issues',
    'git+ssh://git@example.com/some/ipam-kit.git',
  ])('%s', (text) => expect(addressesIn(text)).not.toEqual([]))

  test.each(['ipam-kit.dev/v1alpha1', "from 'ipam-kit/cidr'", 'https://example.com/other'])('not in %s', (text) =>
    expect(addressesIn(text)).toEqual([]),
  )
})
