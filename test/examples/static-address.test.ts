import { execFile } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { CniOutcome } from 'ipam-kit/cni'
import { describe, expect, test } from 'vitest'
import { type PluginCall, serve } from '../../docs/examples/cni-plugin/serve.js'
import { staticAddress } from '../../docs/examples/static-address/static-address.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const ENV = {
  CNI_COMMAND: 'ADD',
  CNI_CONTAINERID: 'c1',
  CNI_NETNS: '/run/netns/x',
  CNI_IFNAME: 'net1',
  CNI_PATH: '/opt',
}
const addresses = [{ address: '10.4.0.5/24', gateway: '10.4.0.1' }]
const config = { cniVersion: '1.0.0', name: 'lab', ipam: { type: 'static-address', addresses } }
const limits = { maxBytes: 1_000_000, timeoutMs: 60_000 }

const streamOf = (text: string) => {
  const stream = new PassThrough()
  stream.end(text)
  return stream
}

const answerOf = async (given: Partial<PluginCall> & { readonly json?: object }, plugin = staticAddress) => {
  const stdin = given.stdin ?? streamOf(JSON.stringify(given.json ?? config))
  const { stdout, exitCode } = await serve(plugin, { env: ENV, limits, ...given, stdin })
  return { exitCode, json: stdout === '' ? undefined : JSON.parse(stdout) }
}

describe('the example plugin', () => {
  test('answers the addresses of its configuration', async () => {
    expect(await answerOf({})).toEqual({ exitCode: 0, json: { cniVersion: '1.0.0', ips: addresses } })
    expect(await answerOf({ json: { ...config, cniVersion: '0.2.0' } })).toEqual({
      exitCode: 0,
      json: { cniVersion: '0.2.0', ip4: { ip: '10.4.0.5/24', gateway: '10.4.0.1' }, dns: {} },
    })
  })

  test('answers DEL with nothing', async () => {
    expect(await answerOf({ env: { ...ENV, CNI_COMMAND: 'DEL' } })).toEqual({ exitCode: 0, json: undefined })
  })

  test('refuses two addresses of a family for 0.2.0', async () => {
    const json = { ...config, cniVersion: '0.2.0', ipam: { addresses: [...addresses, { address: '10.4.0.6/24' }] } }
    expect(await answerOf({ json })).toMatchObject({ exitCode: 1, json: { code: 7, cniVersion: '0.2.0' } })
  })

  test.each<[string, Partial<PluginCall> & { readonly json?: object }, number]>([
    ['no command', { env: {} }, 4],
    ['an unknown command', { env: { ...ENV, CNI_COMMAND: 'FOO' } }, 4],
    ['half of a JSON text', { stdin: streamOf('{"cniVersion"') }, 6],
    ['no address', { json: { ...config, ipam: {} } }, 7],
    ['an address without a length', { json: { ...config, ipam: { addresses: [{ address: '10.4.0.5' }] } } }, 7],
    ['10 MB on stdin', { stdin: streamOf('x'.repeat(10_000_000)) }, 5],
    ['a version that does not exist', { json: { ...config, cniVersion: '2.0.0' } }, 1],
  ])('answers %s with error %i', async (_, given, code) => {
    expect(await answerOf(given)).toMatchObject({ exitCode: 1, json: { code, msg: expect.stringMatching(/./) } })
  })

  test('answers error 5 if stdin stays open', async () => {
    const stdin = new PassThrough()
    stdin.write('{"cniVersion":')
    const answer = await answerOf({ stdin, limits: { ...limits, timeoutMs: 10 } })
    expect(answer).toEqual({ exitCode: 1, json: expect.objectContaining({ code: 5 }) })
    expect(stdin.destroyed).toBe(true)
  })

  test('answers a wrong environment and VERSION while stdin stays open', async () => {
    const stdin = new PassThrough()
    expect(await answerOf({ stdin, env: { CNI_COMMAND: 'ADD' } })).toMatchObject({ json: { code: 4 } })
    expect(await answerOf({ stdin, env: { CNI_COMMAND: 'VERSION' } })).toMatchObject({ json: { cniVersion: '1.1.0' } })
  })

  test('answers one error if the plugin throws, or stdin fails', async () => {
    const throws = async (): Promise<CniOutcome> => {
      throw new TypeError('x is undefined')
    }
    const expected = { exitCode: 1, json: { cniVersion: '1.0.0', code: 999, msg: 'x is undefined' } }
    expect(await answerOf({}, throws)).toEqual(expected)
    const stdin = new PassThrough()
    stdin.destroy(new Error('reset'))
    expect(await answerOf({ stdin })).toEqual({ exitCode: 1, json: { code: 5, msg: 'reading stdin failed: reset' } })
  })
})

test('the program writes one JSON text, and its exit code', async () => {
  const run = (env: object, text: string) =>
    new Promise<unknown>((resolve) => {
      const args = ['--import', 'tsx', `${root}docs/examples/static-address/main.ts`]
      const options = { cwd: root, env: { PATH: process.env.PATH, ...env } }
      const child = execFile(process.execPath, args, options, (error, stdout) => {
        resolve({ exitCode: error?.code ?? 0, json: stdout === '' ? undefined : JSON.parse(stdout) })
      })
      child.stdin?.end(text)
    })
  const [added, refused] = await Promise.all([run(ENV, JSON.stringify(config)), run({}, '')])
  expect(added).toEqual({ exitCode: 0, json: { cniVersion: '1.0.0', ips: addresses } })
  expect(refused).toMatchObject({ exitCode: 1, json: { code: 4 } })
})
