import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { CniDns, CniRoute } from '../../../cni/index.js'
import type { ConfigIssues } from './issues.js'
import { jsonText, Members } from './members.js'
import { AddressTexts, notCidr } from './texts.js'

/** The routes of a configuration. */
export function readRoutes(ipam: Members, issues: ConfigIssues): readonly CniRoute[] {
  const texts = new AddressTexts(issues)
  return ipam.records('routes', 'types.Route').flatMap((members) => {
    const to = members.text('dst') ?? ''
    const dst = texts.prefix(members.path('dst'), to, jsonText(notCidr(to)))
    const via = members.text('gw')
    const sentence = jsonText(`invalid IP address: ${via}`)
    const gw = via === undefined ? undefined : texts.address(members.path('gw'), via, sentence)
    if (dst === undefined) return []
    const [mtu, advmss, priority, table, scope] = (['mtu', 'advmss', 'priority', 'table', 'scope'] as const).map(
      (field) => members.count(field),
    )
    return [{ dst: Prefix.masked(dst), gw, mtu, advmss, priority, table, scope }]
  })
}

/** The settings of the resolver of a configuration. */
export function readDns(ipam: Members, issues: ConfigIssues): CniDns | undefined {
  const given = ipam.record('dns', 'types.DNS')
  if (given === undefined) return undefined
  const path = ipam.path('dns')
  const members = new Members(given, issues, (field) => `${path}.${field}`, 'Net.ipam.dns')
  const lists = (field: string) => {
    const texts = members.texts(field)
    return texts.length === 0 ? undefined : texts
  }
  return {
    nameservers: lists('nameservers'),
    domain: members.text('domain'),
    search: lists('search'),
    options: lists('options'),
  }
}
