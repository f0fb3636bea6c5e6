import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { COMMON_FLAGS, FlagError, parseFlags, readSettings } from '../../docs/examples/program/flags.js'
import { isDeep } from '../setup/depth.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs the program as a user does, where there is no cluster. */
function start(...flags: readonly string[]): Promise<{ readonly status: unknown; readonly err: string }> {
  const command = ['--import', 'tsx', 'docs/examples/in-cluster-controller/main.ts', '--metrics', '0', ...flags]
  const env = { ...process.env, KUBECONFIG: 'no-such-file', KUBERNETES_SERVICE_HOST: undefined }
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd: root, env }, (error, _, err) => {
      resolve({ status: error?.code ?? 0, err })
    })
  })
}

describe('the flags of the in-cluster controller', () => {
  const settings = (...flags: readonly string[]) => readSettings(parseFlags(COMMON_FLAGS, flags))

  test.each([
    ['6', '5'],
    ['6', '4.5'],
    ['6', 'five'],
  ])('a lease of %s s and a deadline of %s s leave no time in which writes end', (duration, deadline) => {
    const words = `--lease-duration (${duration}) must be 2 s or more above --renew-deadline (${deadline})`
    expect(() => settings('--leader-elect', '--lease-duration', duration, '--renew-deadline', deadline)).toThrow(words)
  })

  test.each([
    ['--nope'],
    ['--metrics', '65536'],
    ['--metrics', ''],
    ['--concurrency', '0'],
    ['--lease-duration', '20.5'],
    ['--retry-period', '10'],
    ['--namespace', 'No_1'],
  ])('%s %s is refused in one sentence', (...flags) => {
    expect(() => settings(...flags)).toThrow(FlagError)
    expect(() => settings(...flags)).toThrow(/^[^\n]+$/)
  })

  test.each(isDeep ? [['--nope'], ['--metrics', '65536'], ['--ledger', 'paper']] : [['--ledger', 'paper']])(
    '%s %s ends the program with one line and status 2',
    async (...flags) => {
      const ended = await start(...flags)
      expect(ended.status).toBe(2)
      expect(ended.err).toMatch(/^[^\n]+\n$/)
    },
  )

  test('two seconds are enough', async () => {
    const flags = ['--leader-elect', '--lease-duration', '6', '--renew-deadline', '4']
    expect(settings(...flags)).toMatchObject({ leaseDurationSeconds: 6, renewDeadlineSeconds: 4 })
    if (!isDeep) return
    const ended = await start(...flags)
    // the cluster is what is missing next, or the client, where that is not installed
    expect(ended).toMatchObject({
      status: 1,
      err: expect.stringMatching(
        /^\S+ kubernetes (cannot be opened: there is no kubeconfig: no-such-file|needs a package [^\n]+)\n$/,
      ),
    })
  })
})

describe('the manifests of the in-cluster controller', () => {
  const folder = new URL('../../docs/examples/in-cluster-controller/', import.meta.url)
  const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')
  const { spec, metadata } = parse(read('deployment.yaml')) as {
    metadata: { namespace: string }
    spec: {
      template: {
        spec: { serviceAccountName: string; containers: { image: string; command: string[]; args: string[] }[] }
      }
    }
  }
  const { serviceAccountName, containers } = spec.template.spec

  test('name files that are there, and an image that is used', () => {
    const kustomization = parse(read('kustomization.yaml')) as { resources: string[]; images: { name: string }[] }
    for (const file of kustomization.resources) expect(parseAllDocuments(read(file)).length).toBeGreaterThan(0)
    expect(kustomization.images.map(({ name }) => name)).toEqual(containers.map(({ image }) => image))
    const [program] = containers[0]!.command.slice(1)
    expect(`/controller/${/COPY (\S+) \./.exec(read('Dockerfile'))?.[1]}`).toBe(program)
  })

  test('run the program as the account that has the rights, with flags that it has', () => {
    const objects = parseAllDocuments(read('rbac.yaml')).map(
      (document) => document.toJS() as { kind: string; metadata: { name: string; namespace?: string } },
    )
    const account = objects.find(({ kind }) => kind === 'ServiceAccount')
    expect(account?.metadata).toEqual({ name: serviceAccountName, namespace: metadata.namespace })
    const settings = readSettings(parseFlags(COMMON_FLAGS, containers[0]!.args))
    expect(settings).toMatchObject({ elects: true, metricsPort: 8080, namespace: 'ipam-system' })
  })
})
