import fc from 'fast-check'
import { Address, Prefix } from 'ipam-kit/cidr'
import { unwrap } from 'ipam-kit/errors'
import { guestNetwork, readGuestSettings } from 'ipam-kit/provider/persistent-ip'
import { expect, test } from 'vitest'
import { nadOf } from './definitions.js'

const via = fc.constantFrom('10.0.0.1', '10.0.0.2', 'fd00::1', 'fd00::2')
const nic = fc.record({
  role: fc.constantFrom('primary', 'secondary'),
  gateways: fc.array(via, { maxLength: 3 }),
  ips: fc.subarray(['10.0.0.1/24', '10.0.0.7/24', 'fd00::7/64'], { minLength: 1 }),
})

test('each family of a guest has exactly one default route, or a reason', () => {
  fc.assert(
    fc.property(fc.array(nic, { maxLength: 4 }), fc.nat({ max: 8 }), (nics, choice) => {
      const interfaces = nics.map(({ role, gateways, ips }, index) => {
        const routes = gateways.map((gw) => ({ dst: gw.includes(':') ? '::/0' : '0.0.0.0/0', gw }))
        const settings = unwrap(readGuestSettings(nadOf({ name: 'lan', type: 'macvlan', role, ipam: { routes } })))
        const metadata = { namespace: 'ns1', name: `vm.n${index}` }
        const spec = { network: 'lan', interface: '' }
        const claim = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata, spec, status: { ips } }
        return { network: `n${index}`, mac: `02:00:00:00:00:0${index}`, claim, settings }
      })
      const defaultRoute = choice < nics.length ? `n${choice}` : undefined
      const guest = guestNetwork(interfaces, { defaultRoute })
      if (guest.kind === 'refused') throw new Error('refused')
      const devices = Object.values(guest.data.ethernets)
      const ways = devices.flatMap(({ gateway4, gateway6, routes = [] }) => [
        ...[gateway4, gateway6].flatMap((text) => (text === undefined ? [] : [text])),
        ...routes.filter(({ to }) => to.endsWith('/0')).map((route) => route.via),
      ])
      const families = new Set(nics.flatMap(({ ips }) => ips.map((ip) => Prefix.parse(ip).address.family)))
      expect(new Set(guest.defaultRoutes.map(({ family }) => family))).toEqual(families)
      const named = guest.defaultRoutes.flatMap((route) => (route.kind === 'route' ? [Address.format(route.via)] : []))
      expect(ways.sort()).toEqual(named.sort())
      for (const route of guest.defaultRoutes) if (route.kind === 'none') expect(route.message).not.toBe('')
    }),
  )
})
