import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CNI_VERSIONS, type CniError } from 'ipam-kit/cni'
import type { Report } from '../report.js'
import { addressesIn, type Call, callPlugin, type Subject } from './runtime.js'

const SUCCESS = { exit: 0, json: undefined }

/** What every plugin has to answer, as exit code and JSON. */
export async function commands(report: Report, subject: Subject, folder: string): Promise<void> {
  const { name } = subject
  const call = async (command: string, given?: Call) => {
    const { exit, json } = await callPlugin(subject, folder, command, given)
    return { exit, json }
  }
  const containers = async () => (await subject.rows()).map(({ container }) => container).sort()
  await report.test(`${name}: two ADDs of one container give one address, and DEL twice succeeds`, async () => {
    const first = await call('ADD')
    assert.deepEqual(await call('ADD'), first)
    assert.deepEqual(first, {
      exit: 0,
      json: { cniVersion: '1.1.0', ips: [{ address: '10.60.0.2/22', gateway: '10.60.0.1' }] },
    })
    const other = await call('ADD', { container: 'c2' })
    assert.notDeepEqual(other.json, first.json)
    assert.deepEqual(await containers(), ['c1', 'c2'])
    assert.deepEqual(await call('DEL'), SUCCESS)
    assert.deepEqual(await call('DEL'), SUCCESS)
    assert.deepEqual(await containers(), ['c2'])
    assert.deepEqual(await call('DEL', { container: 'c2' }), SUCCESS)
    assert.deepEqual(await containers(), [])
    return undefined
  })
  await report.test(`${name}: CHECK succeeds after ADD, and says that a row is lost`, async () => {
    const { json } = await call('ADD')
    const check = { config: { prevResult: json as object } }
    assert.deepEqual(await call('CHECK', check), SUCCESS)
    await subject.lose('c1')
    const { exit, json: error } = await call('CHECK', check)
    const { code, msg } = error as { readonly code: number; readonly msg: string }
    assert.deepEqual([exit, code], [1, 100])
    assert.match(msg, /has no .*row of c1$/)
    assert.deepEqual(await call('DEL'), SUCCESS)
    return msg
  })
  await report.test(`${name}: GC frees the rows of attachments that are not listed`, async () => {
    for (const container of ['c1', 'c2', 'c3']) addressesIn(await callPlugin(subject, folder, 'ADD', { container }))
    const valid = (list: readonly string[]) => {
      const attachments = list.map((containerID) => ({ containerID, ifname: 'net1' }))
      return { config: { 'cni.dev/valid-attachments': attachments } }
    }
    // a record of less than a minute frees nothing: its ADD may still be under way
    assert.deepEqual(await call('GC', valid(['c2'])), SUCCESS)
    assert.deepEqual(await containers(), ['c1', 'c2', 'c3'])
    age(subject.record)
    await subject.age()
    assert.deepEqual(await call('GC', valid(['c2'])), SUCCESS)
    assert.deepEqual(await containers(), ['c2'])
    assert.deepEqual(await call('GC', valid([])), SUCCESS)
    assert.deepEqual(await containers(), [])
    const { exit, json } = await call('GC')
    assert.deepEqual([exit, (json as { readonly code: number }).code], [1, 7])
    return undefined
  })
  await report.test(`${name}: STATUS succeeds, and is 50 if the store cannot be reached`, async () => {
    assert.deepEqual(await call('STATUS'), SUCCESS)
    const away = { ipam: subject.away }
    const [status, del] = [await call('STATUS', away), await call('DEL', away)]
    const codes = [status, del].map(({ exit, json }) => [exit, (json as { readonly code?: number })?.code])
    assert.deepEqual(codes, [
      [1, 50],
      [1, 11],
    ])
    return undefined
  })
  await report.test(`${name}: VERSION needs no configuration`, async () => {
    const wanted = { cniVersion: '1.1.0', supportedVersions: [...CNI_VERSIONS] }
    assert.deepEqual(await call('VERSION', { stdin: '' }), { exit: 0, json: wanted })
    return undefined
  })
  await report.test(`${name}: a container without a Pod is ${subject.isLocal ? 'served' : 'code 4'}`, async () => {
    const none = { env: { CNI_ARGS: '' } }
    const { exit, json } = await call('ADD', none)
    if (subject.isLocal) assert.deepEqual(await containers(), ['c1'])
    else assert.deepEqual([exit, json], [1, NO_POD])
    assert.deepEqual(await call('DEL', none), SUCCESS)
    assert.deepEqual(await containers(), [])
    return undefined
  })
  for (const [about, given, json] of BAD) {
    await report.test(`${name}: ${about} is code ${json.code}`, async () => {
      assert.deepEqual(await call('ADD', given), { exit: 1, json })
      assert.deepEqual(await containers(), [])
      return undefined
    })
  }
}

const WRONG = 'IPAM configuration is invalid: '
const NAMED = { cniVersion: '1.1.0' }
const NO_POD = { ...NAMED, code: 4, msg: 'CNI_ARGS has no K8S_POD_NAMESPACE and K8S_POD_NAME' }
const never = (code: string) => `${code}, retry: never`

/** Inputs, each with its error. */
const BAD: readonly (readonly [string, Call, CniError])[] = [
  [
    'no command',
    { env: { CNI_COMMAND: undefined } },
    { code: 4, msg: 'CNI_COMMAND: required', details: never('INVALID_CNI_ENVIRONMENT') },
  ],
  [
    'half of a configuration',
    { stdin: '{"cniVersion"' },
    {
      code: 6,
      msg: 'the network configuration is not valid JSON: unexpected end of JSON input (at position 13)',
      details: never('MALFORMED_JSON'),
    },
  ],
  [
    'a configuration that is a list',
    { stdin: '[]' },
    {
      code: 7,
      msg: 'network configuration is invalid: the configuration: expected an object, got a list',
      details: never('INVALID_CNI_CONFIG'),
    },
  ],
  [
    'a version that does not exist',
    { config: { cniVersion: '9.0.0' } },
    {
      code: 1,
      msg: 'cniVersion "9.0.0": this plugin supports 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0',
      details: never('CNI_VERSION_MISMATCH'),
    },
  ],
  [
    'an exclude larger than the range',
    { ipam: { exclude: ['10.0.0.0/8'] } },
    {
      ...NAMED,
      code: 7,
      msg: `${WRONG}ipam.exclude: leaves no address of 10.60.0.0/22`,
      details: never('INVALID_IPAM_CONFIG'),
    },
  ],
  [
    'the network namespace of the plugin',
    { env: { CNI_NETNS: '/proc/self/ns/net' } },
    {
      ...NAMED,
      code: 8,
      msg: 'CNI_NETNS is the network namespace of the plugin, and not one of a container',
    },
  ],
]

/** Sets back when the record says that its containers were added. */
function age(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    const record = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...record, addedMs: record.addedMs - 120_000 }))
  }
}
