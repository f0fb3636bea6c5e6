import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { installPlugin, renewKubeconfig } from '../../docs/examples/cni-plugin/install-files.js'
import { readKubeconfig } from '../../docs/examples/cni-plugin/kubeconfig.js'

const EXAMPLE = fileURLToPath(new URL('../../docs/examples/cni-plugin/', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-install-'))
const bin = join(folder, 'bin')

afterAll(() => rmSync(folder, { recursive: true }))

describe('installPlugin', () => {
  test.each(['plugin.cjs', 'plugin'])('installs %s, which a runtime calls with the flags', async (name) => {
    const plugin = join(folder, name)
    const isBundle = name.endsWith('.cjs')
    const program = isBundle ? 'console.log(process.argv.slice(2).join())' : '#!/bin/sh\necho "$1,$2"\n'
    writeFileSync(plugin, program)
    for (const args of ['--record /none', '--record /other']) {
      installPlugin({ plugin, bin, name: 'ipam-kit', args })
      const { stdout } = await promisify(execFile)(join(bin, 'ipam-kit'))
      expect(stdout.trim()).toBe(args.replace(' ', ','))
    }
    expect(statSync(join(bin, 'ipam-kit')).mode & 0o777).toBe(0o755)
  })

  test('leaves the former plugin as it is if it fails, and nothing beside it', () => {
    const former = readFileSync(join(bin, 'ipam-kit'), 'utf8')
    const files = readdirSync(bin).toSorted()
    const missing = join(folder, 'missing.cjs')
    expect(() => installPlugin({ plugin: missing, bin, name: 'ipam-kit', args: '' })).toThrow('ENOENT')
    expect([readFileSync(join(bin, 'ipam-kit'), 'utf8'), readdirSync(bin).toSorted()]).toEqual([former, files])
  })
})

test('renewKubeconfig writes the file for root alone, and again when the token turns', async () => {
  const account = { folder: join(folder, 'account'), host: 'fd00::1', port: '443' }
  mkdirSync(account.folder)
  writeFileSync(join(account.folder, 'ca.crt'), 'PEM')
  const file = join(folder, 'conf', 'kubeconfig')
  for (const token of ['first', 'second']) {
    writeFileSync(join(account.folder, 'token'), `${token}\n`)
    expect([renewKubeconfig(file, account), renewKubeconfig(file, account)]).toEqual([true, false])
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const { url, ca, headers } = await readKubeconfig(file)
    expect({ url, ca, headers }).toEqual({
      url: 'https://[fd00::1]:443',
      ca: 'PEM',
      headers: { authorization: `Bearer ${token}` },
    })
  }
  expect(readdirSync(join(folder, 'conf'))).toEqual(['kubeconfig'])
})

describe('the manifests', () => {
  interface Container {
    readonly command: readonly string[]
    readonly args: readonly string[]
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  }
  const daemonSet = parse(readFileSync(`${EXAMPLE}daemonset.yaml`, 'utf8'))
  const { containers, volumes } = daemonSet.spec.template.spec as {
    readonly containers: readonly Container[]
    readonly volumes: readonly { readonly name: string }[]
  }

  test('have flags that the programs have', () => {
    for (const { command, args } of containers) {
      const file = command[1] === '/plugin/install.mjs' ? 'install-flags.ts' : 'program.ts'
      const program = readFileSync(EXAMPLE + file, 'utf8')
      const names = args.map((arg) => /^--([a-z]+)=/.exec(arg)?.[1])
      for (const name of names) expect(program, `${file} --${name}`).toMatch(new RegExp(`^  ${name}: \\{ type`, 'm'))
    }
    const [, plugin = ''] = /^--args=(.*)$/.exec(containers[0]?.args.at(-1) ?? '') ?? []
    expect(plugin.match(/--\w+/g)).toEqual(['--socket', '--fallback', '--record'])
  })

  test('mount what the flags name, and the account of rbac.yaml', () => {
    const named = volumes.map(({ name }) => name)
    for (const { args, volumeMounts } of containers) {
      for (const { name } of volumeMounts) expect(named).toContain(name)
      const paths = args.flatMap((arg) => /^--(?:bin|kubeconfig|daemon|record)=(.*)$/.exec(arg)?.[1] ?? [])
      for (const path of paths) {
        expect(
          volumeMounts.some(({ mountPath }) => path.startsWith(mountPath)),
          path,
        ).toBe(true)
      }
    }
    const { serviceAccountName } = daemonSet.spec.template.spec
    expect(readFileSync(`${EXAMPLE}rbac.yaml`, 'utf8')).toContain(`name: ${serviceAccountName}\n`)
  })

  test('are those of the kustomization', () => {
    const { resources } = parse(readFileSync(`${EXAMPLE}kustomization.yaml`, 'utf8'))
    for (const file of resources) expect(existsSync(EXAMPLE + file), file).toBe(true)
  })
})
