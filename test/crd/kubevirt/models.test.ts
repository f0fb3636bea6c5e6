import {
  isMigrationOf,
  MIGRATED_ANNOTATION,
  MIGRATION_LABEL,
  type MigrationPod,
  migrationStage,
  VirtualMachine,
  VirtualMachineInstance,
} from 'ipam-kit/crd/kubevirt'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'

const spec = {
  networks: [
    { name: 'podnet', pod: {} },
    { name: 'blue', multus: { networkName: 'lab/blue', default: false } },
  ],
  domain: { devices: { interfaces: [{ name: 'blue', macAddress: '02:00:00:00:00:01', state: 'absent', bridge: {} }] } },
  volumes: [{ name: 'root' }],
}

const vmi = (rest: object) => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name: 'vm1', namespace: 'a' },
  spec,
  ...rest,
})

describe('a virtual machine', () => {
  test('keeps fields that the subset does not name', () => {
    const given = vmi({ status: { activePods: { 'uid-1': 'node-a' }, phase: 'Running' } })
    expect(VirtualMachineInstance.parse(given)).toEqual(given)
    expect(VirtualMachineInstance.warnings(given)).toEqual([])
    const vm = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      metadata: { name: 'vm1' },
      spec: { runStrategy: 'Always', template: { metadata: { labels: {} }, spec } },
    }
    expect(VirtualMachine.parse(vm)).toEqual(vm)
    expect(VirtualMachine.warnings(vm)).toEqual([])
  })

  test('without networks and without hardware is read', () => {
    expect(VirtualMachineInstance.parse(vmi({ spec: {} })).spec).toEqual({})
    expect(VirtualMachineInstance.parse(vmi({ spec: { networks: null, domain: null } })).spec).toEqual({})
  })

  test('with a network that has no name is refused, with its path', () => {
    const read = VirtualMachineInstance.safeParse(vmi({ spec: { networks: [{ pod: {} }] } }))
    expect(read).toMatchObject({ failure: { context: { issues: [{ path: 'spec.networks[0].name' }] } } })
    const errors = VirtualMachineInstance.validate(vmi({ spec: { networks: [{ name: 'a', multus: {} }] } }))
    expect(errors.map(formatFieldError)).toEqual(['spec.networks[0].multus.networkName: Required value'])
  })
})

describe('a live migration', () => {
  const podOf = (labels: object, annotations?: object) => ({ metadata: { labels, annotations } }) as MigrationPod
  const vmi = { 'kubevirt.io/created-by': 'vmi1' }
  const target = { ...vmi, [MIGRATION_LABEL]: 'm1' }

  test('has a target, in which the machine runs later', () => {
    expect(migrationStage({ metadata: {} })).toBe('none')
    expect(migrationStage(podOf(target))).toBe('target')
    expect(migrationStage(podOf(target, { [MIGRATED_ANNOTATION]: '' }))).toBe('target')
    expect(migrationStage(podOf(target, { [MIGRATED_ANNOTATION]: '2026-01-01T00:00:00Z' }))).toBe('migrated')
    expect(migrationStage(podOf(vmi, { [MIGRATED_ANNOTATION]: '2026-01-01T00:00:00Z' }))).toBe('none')
  })

  test('is of Pods of one instance', () => {
    expect(isMigrationOf(podOf(target), podOf(vmi))).toBe(true)
    expect(isMigrationOf(podOf(vmi), podOf(target))).toBe(false)
    expect(isMigrationOf(podOf(target), podOf({ 'kubevirt.io/created-by': 'vmi2' }))).toBe(false)
    expect(isMigrationOf(podOf({ [MIGRATION_LABEL]: 'm1' }), podOf({}))).toBe(false)
  })
})
